import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Attributes } from "@opentelemetry/api";
import { within } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";
import type { Logger } from "../protocol/logger.js";
import type { OpenTelemetry } from "./api.js";
import { combineMeters, type Meters, openMeters, stopAll } from "./meters.js";
import type { TelemetryOptions } from "./options.js";
import { followServerCalls } from "./server-calls.js";
import type { FollowedAgent, ServerStats, TaskSource, Telemetry } from "./telemetry.js";
import { followTurns } from "./turns.js";
import { followWebhooks } from "./webhooks.js";

/** Creates the telemetry of a server: spans and metrics for the SDK, and with `metrics` also an endpoint for Prometheus. */
export async function createTelemetry(
  api: OpenTelemetry,
  { metrics, exceptions = "full" }: TelemetryOptions,
): Promise<Telemetry> {
  const metricsServer = metrics && (await (await import("./prometheus.js")).serveMetrics(api, metrics));
  const sdkMeters = openMeters(api.metrics.getMeterProvider());
  const meters = metricsServer === undefined ? sdkMeters : combineMeters(sdkMeters, openMeters(metricsServer.provider));

  const outsideTrace = <T>(work: () => T): T => api.context.with(api.ROOT_CONTEXT, work);
  return {
    exceptions,
    calls: (agent) =>
      followServerCalls({ api, meters, exceptions }, agent === undefined ? {} : { "gen_ai.agent.name": agent.name }),
    turns: (agent) => followTurns({ api, meters, exceptions }, agent),
    webhooks: (agent) => followWebhooks(api, meters, { "gen_ai.agent.name": agent.name }),
    recordFlush({ system, writes, durationMs }) {
      const attributes = { "db.system.name": system };
      meters.recordLater("flush", durationMs / 1_000, attributes, api.ROOT_CONTEXT);
      meters.recordLater("flushWrites", writes, attributes, api.ROOT_CONTEXT);
    },
    watch: (agent, read) => watchStats(meters, agent, read),
    logger: (logger) => tracedLogger(api, logger),
    clock: (clock) => ({
      now: clock.now.bind(clock),
      ...(clock.monotonic && { monotonic: clock.monotonic.bind(clock) }),
      after: (ms, run) => clock.after(ms, () => outsideTrace(run)),
    }),
    metricsUrl: metricsServer?.url,
    async close() {
      meters.flush();
      await within(systemClock, flushMs, forceFlush(api));
      await metricsServer?.close();
    },
  };
}

/** Time limit for the export of the last spans and metrics, in milliseconds: the process may end next. */
const flushMs = 2_000;

/** Makes an SDK export its buffers. The API does not define this, so providers without `forceFlush` are skipped. */
async function forceFlush({ trace, metrics, ProxyTracerProvider }: OpenTelemetry): Promise<void> {
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

/** The same name for all servers of the process that have the agent on this store, or on stores of one database. */
function describeSource({ store, agentId }: TaskSource, database: string | undefined): string {
  const number = storeNumbers.get(store) ?? ++stores;
  storeNumbers.set(store, number);
  return `${database ?? number} ${agentId}`;
}

function watchStats(meters: Meters, { name }: FollowedAgent, read: () => ServerStats): () => void {
  const agent = { "gen_ai.agent.name": name };
  const one = (value: number | undefined, more: Attributes = {}) =>
    value === undefined ? [] : [{ value, attributes: { ...more, ...agent } }];
  const ofState = (state: string, value: number | undefined) => one(value, { "trivium.turn.state": state });
  const ofWait = (wait: string, value: number | undefined) => one(value, { "trivium.parked.until": wait });
  const stops = [
    meters.shareGauges(watchEventLoop),
    meters.observe("streams", () => one(read().streams)),
    meters.observe("streamLag", () => one(read().streamLag)),
    meters.observe("inbox", () => one(read().inbox)),
    meters.observe("webhooksDue", () => one(read().webhooksDue)),
    meters.observe("turns", () => {
      const { running, queued, waiting } = read();
      return [...ofState("running", running), ...ofState("queued", queued), ...ofState("waiting", waiting)];
    }),
    meters.observe("parked", async () => {
      const { parked: count, taskSource: tasksIn } = read();
      const tasks = await count?.();
      const readings = [...ofWait("time", tasks?.timed), ...ofWait("call", tasks?.untimed)];
      const source = tasksIn && describeSource(tasksIn, tasks?.database);
      return source === undefined ? readings : readings.map((each) => ({ ...each, source }));
    }),
  ];
  return stopAll(stops);
}

/** The gauges of one collection are read within this time, in milliseconds, and see the same delays. */
const collectionMs = 50;
const nanoseconds = 1e9;

/** Measures the delay of the event loop between collections, until the returned function is called. */
function watchEventLoop(meters: Meters): () => void {
  const histogram = monitorEventLoopDelay({ resolution: 10 });
  histogram.enable();
  let sample = { at: Number.NEGATIVE_INFINITY, mean: 0, p99: 0, max: 0 };
  const currentSample = (): typeof sample => {
    const at = performance.now();
    if (at - sample.at < collectionMs) return sample;
    const mean = Number.isNaN(histogram.mean) ? 0 : histogram.mean;
    sample = { at, mean, p99: histogram.percentile(99), max: histogram.max };
    histogram.reset();
    return sample;
  };
  const reading = (value: number) => [{ value: value / nanoseconds, attributes: {} }];
  return stopAll([
    meters.observe("loopDelayMean", () => reading(currentSample().mean)),
    meters.observe("loopDelayP99", () => reading(currentSample().p99)),
    meters.observe("loopDelayMax", () => reading(currentSample().max)),
    () => histogram.disable(),
  ]);
}

/**
 * Adds the current trace and span to each record, by OpenTelemetry's names for logs. The span gets the reference of the
 * record, which the caller has in its error.
 */
function tracedLogger({ trace, isSpanContextValid }: OpenTelemetry, logger: Logger): Logger {
  const withTrace = (fields: object): object => {
    const span = trace.getActiveSpan();
    const spanContext = span?.spanContext();
    if (span === undefined || spanContext === undefined || !isSpanContextValid(spanContext)) return fields;
    if ("reference" in fields) span.setAttribute("trivium.error.reference", String(fields.reference));
    const { traceId: trace_id, spanId: span_id, traceFlags } = spanContext;
    const record = fields instanceof Error ? { err: fields } : fields;
    return { ...record, trace_id, span_id, trace_flags: `0${traceFlags & 1}` };
  };
  return {
    debug: (fields, message) => logger.debug(withTrace(fields), message),
    info: (fields, message) => logger.info(withTrace(fields), message),
    warn: (fields, message) => logger.warn(withTrace(fields), message),
    error: (fields, message) => logger.error(withTrace(fields), message),
  };
}
