import type { Attributes } from "@opentelemetry/api";
import { within } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";
import type { OpenTelemetry } from "./api.js";
import { watchEventLoop } from "./event-loop.js";
import { tracedLogger } from "./logger.js";
import { both, type Meters, metersOf } from "./meters.js";
import type { TelemetryOptions } from "./options.js";
import { followServerCalls } from "./server-calls.js";
import type { FollowedAgent, HostFigures, TasksPlace, Telemetry } from "./telemetry.js";
import { followTurns } from "./turns.js";
import { followWebhooks } from "./webhooks.js";

/** Creates the telemetry of a server; `metrics` says where metrics are served besides. */
export async function createTelemetry(api: OpenTelemetry, { metrics }: TelemetryOptions): Promise<Telemetry> {
  const served = metrics && (await (await import("./prometheus.js")).serveMetrics(api, metrics));
  const ofSdk = metersOf(api.metrics.getMeterProvider());
  const meters = served === undefined ? ofSdk : both(ofSdk, metersOf(served.provider));

  const apart = <T>(work: () => T): T => api.context.with(api.ROOT_CONTEXT, work);
  return {
    calls: (agent) => followServerCalls(api, meters, agent === undefined ? {} : { "gen_ai.agent.name": agent.name }),
    turns: (agent) => followTurns(api, meters, agent),
    webhooks: (agent) => followWebhooks(api, meters, { "gen_ai.agent.name": agent.name }),
    flushed({ system, writes, durationMs }) {
      const attributes = { "db.system.name": system };
      meters.recordLater("flush", durationMs / 1_000, attributes, api.ROOT_CONTEXT);
      meters.recordLater("flushWrites", writes, attributes, api.ROOT_CONTEXT);
    },
    watch: (agent, read) => watchFigures(meters, agent, read),
    logger: (logger) => tracedLogger(api, logger),
    clock: (clock) => ({
      now: clock.now.bind(clock),
      ...(clock.monotonic && { monotonic: clock.monotonic.bind(clock) }),
      after: (ms, run) => clock.after(ms, () => apart(run)),
    }),
    metricsUrl: served?.url,
    async close() {
      meters.flush();
      await within(systemClock, flushMs, flushed(api));
      await served?.close();
    },
  };
}

/** How long the last spans and metrics of a server may take to leave, in milliseconds: its process may end next. */
const flushMs = 2_000;

/** Has an SDK export what it still keeps. The API has no word for it, so providers without one are passed over. */
async function flushed({ trace, metrics, ProxyTracerProvider }: OpenTelemetry): Promise<void> {
  const tracers = trace.getTracerProvider();
  const providers = [
    tracers instanceof ProxyTracerProvider ? tracers.getDelegate() : tracers,
    metrics.getMeterProvider(),
  ];
  const flushes = providers.map(async (provider) => {
    if ("forceFlush" in provider && typeof provider.forceFlush === "function") await provider.forceFlush();
  });
  await Promise.allSettled(flushes);
}

const storeNumbers = new WeakMap<object, number>();
let stores = 0;

/** The same for all servers of the process that have the agent on the store, or on stores of one database. */
function nameOfPlace({ store, agentId }: TasksPlace, database: string | undefined): string {
  const number = storeNumbers.get(store) ?? ++stores;
  storeNumbers.set(store, number);
  return `${database ?? number} ${agentId}`;
}

function watchFigures(meters: Meters, { name }: FollowedAgent, read: () => HostFigures): () => void {
  const agent = { "gen_ai.agent.name": name };
  const one = (value: number | undefined, more: Attributes = {}) =>
    value === undefined ? [] : [{ value, attributes: { ...more, ...agent } }];
  const ofState = (state: string, value: number | undefined) => one(value, { "trivium.turn.state": state });
  const until = (what: string, value: number | undefined) => one(value, { "trivium.parked.until": what });
  const stops = [
    meters.once(watchEventLoop),
    meters.observe("streams", () => one(read().streams)),
    meters.observe("streamLag", () => one(read().streamLag)),
    meters.observe("inbox", () => one(read().inbox)),
    meters.observe("webhooksDue", () => one(read().webhooksDue)),
    meters.observe("turns", () => {
      const { running, queued, waiting } = read();
      return [...ofState("running", running), ...ofState("queued", queued), ...ofState("waiting", waiting)];
    }),
    meters.observe("parked", async () => {
      const { parked: count, tasksIn } = read();
      const parked = await count?.();
      const readings = [...until("time", parked?.timed), ...until("call", parked?.untimed)];
      const source = tasksIn && nameOfPlace(tasksIn, parked?.database);
      return source === undefined ? readings : readings.map((each) => ({ ...each, source }));
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
