import type { Clock } from "../protocol/async/clock.js";
import type { Logger } from "../protocol/logger.js";
import type {
  AgentFigures,
  CallTelemetry,
  ParkedCount,
  StoreFlush,
  TurnTelemetry,
  WebhookTelemetry,
} from "../protocol/telemetry/follow.js";

// Without a type of `@opentelemetry/api`: the options of a server lead here, and a program compiles without that package.

/** The agent that is followed. */
export interface FollowedAgent {
  /** `gen_ai.agent.name`, which every metric has. */
  readonly name: string;
  readonly version: string;
}

/** The tasks of one agent in one store. */
export interface TasksPlace {
  readonly store: object;
  readonly agentId: string;
}

/** What a server counts at a moment; what it does not have is left out. */
export interface HostFigures extends Partial<AgentFigures> {
  /** Open streams. */
  readonly streams: number;
  /** Webhooks that are called, or wait for their turn. */
  readonly webhooksDue?: number | undefined;
  /** Counts the agent's parked tasks in its store. */
  readonly parked?: (() => Promise<ParkedCount | undefined>) | undefined;
  /** Where those tasks are. */
  readonly tasksIn?: TasksPlace | undefined;
}

/** Telemetry of a server. */
export interface Telemetry {
  /** `undefined`: calls that end before their agent is known. */
  calls(agent: FollowedAgent | undefined): CallTelemetry;
  turns(agent: FollowedAgent): TurnTelemetry;
  webhooks(agent: FollowedAgent): WebhookTelemetry;
  /** A commit of the store. */
  readonly flushed: (flush: StoreFlush) => void;
  /** Has figures read whenever metrics are collected, until the returned function is called. */
  watch(agent: FollowedAgent, read: () => HostFigures): () => void;
  /** Records get the trace and the span in which they are written. */
  logger(logger: Logger): Logger;
  /** Timers run outside of the trace in which they were set: what happens later is not a part of it. */
  clock(clock: Clock): Clock;
  /** Where metrics are served, if they are. */
  readonly metricsUrl: string | undefined;
  close(): Promise<void>;
}
