import type { Clock } from "../protocol/async/clock.js";
import type { Logger } from "../protocol/logger.js";
import type { CallTelemetry, TurnTelemetry } from "../protocol/telemetry/follow.js";
import type { OpenTelemetry } from "./api.js";
import { tracedLogger } from "./logger.js";
import { both, metersOf } from "./meters.js";
import type { TelemetryOptions } from "./options.js";
import { followServerCalls } from "./server-calls.js";
import { type FollowedAgent, followTurns } from "./turns.js";

/** Telemetry of a server. */
export interface Telemetry {
  calls(agent: FollowedAgent): CallTelemetry;
  turns(agent: FollowedAgent): TurnTelemetry;
  /** Records get the trace and the span in which they are written. */
  logger(logger: Logger): Logger;
  /** Timers run outside of the trace in which they were set: what happens later is not a part of it. */
  clock(clock: Clock): Clock;
  /** Where metrics are served, if they are. */
  readonly metricsUrl: string | undefined;
  close(): Promise<void>;
}

/** Creates the telemetry of a server; `metrics` says where metrics are served besides. */
export async function createTelemetry(api: OpenTelemetry, { metrics }: TelemetryOptions): Promise<Telemetry> {
  const served = metrics && (await (await import("./prometheus.js")).serveMetrics(metrics));
  const ofSdk = metersOf(api.metrics.getMeterProvider());
  const meters = served === undefined ? ofSdk : both(ofSdk, metersOf(served.provider));

  const apart = <T>(work: () => T): T => api.context.with(api.ROOT_CONTEXT, work);
  return {
    calls: (agent) => followServerCalls(api, meters, { "gen_ai.agent.name": agent.name }),
    turns: (agent) => followTurns(api, meters, agent),
    logger: (logger) => tracedLogger(api, logger),
    clock: (clock) => ({
      ...{ now: () => clock.now(), monotonic: () => clock.monotonic?.() ?? clock.now() },
      after: (ms, run) => clock.after(ms, () => apart(run)),
    }),
    metricsUrl: served?.url,
    close: async () => served?.close(),
  };
}
