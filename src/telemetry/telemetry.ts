import type { Clock } from "../protocol/async/clock.js";
import type { Logger } from "../protocol/logger.js";
import type {
  AgentStats,
  CallTelemetry,
  ParkedCount,
  StoreFlush,
  TurnTelemetry,
  WebhookTelemetry,
} from "../protocol/telemetry/follow.js";
import { loadOpenTelemetry } from "./api.js";
import type { ExceptionDetail, TelemetryOptions } from "./options.js";

// Telemetry by OpenTelemetry: spans, metrics and ids in log records for what `protocol/telemetry/follow.ts` reports.
// Loaded only if an SDK was started, or for `telemetry.metrics`.
//
// Calls of a server report through the observer of `ServerCall`, which also writes the access log. Turns report through
// `TurnRun`, which runs the agent in the context of its span. Calls of a client report through an interceptor
// (`client-calls.ts`). The place of a send in its trace is stored with its message, that of a wake with the start of
// its turn: so a turn hangs below what caused it, in every attempt and in every process, and is linked to what caused
// the turn before.
//
// A call that is not sampled must cost little: at most 1.12 × the bare calls of the SDK that it cannot do without
// (`docs/explanation/performance.md`). So attributes of metrics are made once for each outcome, a span gets most of its
// own when it is recorded, and a server's durations wait in a queue (`meters.ts`).

// No types of `@opentelemetry/api` here: the options of a server lead here, and programs compile without that package.

/** The agent whose calls and turns are measured. */
export interface FollowedAgent {
  /** `gen_ai.agent.name`, which every metric has. */
  readonly name: string;
  readonly version: string;
}

/** The tasks of one agent in one store. */
export interface TaskSource {
  readonly store: object;
  readonly agentId: string;
}

/** The figures of a server at one moment; a server without webhooks or a store leaves theirs out. */
export interface ServerStats extends Partial<AgentStats> {
  /** Open streams. */
  readonly streams: number;
  /** Webhooks that have a notification due or under way. */
  readonly webhooksDue?: number | undefined;
  /** Counts the agent's parked tasks in its store. */
  readonly parked?: (() => Promise<ParkedCount | undefined>) | undefined;
  /** The tasks that `parked` counts. */
  readonly taskSource?: TaskSource | undefined;
}

/** Telemetry of a server. */
export interface Telemetry {
  /** How much of an error spans show. */
  readonly exceptions: ExceptionDetail;
  /** `undefined`: calls that end before their agent is known. */
  calls(agent: FollowedAgent | undefined): CallTelemetry;
  turns(agent: FollowedAgent): TurnTelemetry;
  webhooks(agent: FollowedAgent): WebhookTelemetry;
  /** Records a commit of the store. */
  readonly recordFlush: (flush: StoreFlush) => void;
  /** Reads figures whenever metrics are collected, until the returned function is called. */
  watch(agent: FollowedAgent, read: () => ServerStats): () => void;
  /** Adds the current trace and span to log records. */
  logger(logger: Logger): Logger;
  /** Runs timers outside the trace in which they were set: later work is not a part of it. */
  clock(clock: Clock): Clock;
  /** Where metrics are served, if they are. */
  readonly metricsUrl: string | undefined;
  close(): Promise<void>;
}

/** Opens the telemetry of a server. `undefined` if it is off (`BaseServerOptions`); its code is then not loaded. */
export async function openTelemetry(setting: boolean | TelemetryOptions | undefined): Promise<Telemetry | undefined> {
  const options = typeof setting === "object" ? setting : {};
  // Metrics are also served without an SDK.
  const isOn = typeof setting === "object" ? setting.metrics && true : setting;
  const api = await loadOpenTelemetry(isOn);
  return api && (await import("./create-telemetry.js")).createTelemetry(api, options);
}
