// The table of all metrics, from which come the instruments, the reference and the test of the dashboard. A new metric
// is a row here, and a call of `record`, `recordLater`, `count` or `observe` (`meters.ts`) with its name where it is measured:
// `server-calls.ts`, `turns.ts`, `webhooks.ts`, `client-calls.ts`, or `watchStats` in `create-telemetry.ts` for the
// gauges of a server. What the core has to report for it is a member in `protocol/telemetry/follow.ts`. A metric of a
// server also needs a panel of the dashboard (`deploy/grafana/trivium.json`), which a test asks for. Names that do not
// begin with `trivium.` are from OpenTelemetry's conventions for RPC, generative AI and Node.js.

/** A gauge is read whenever metrics are collected. */
type InstrumentKind = "histogram" | "counter" | "gauge";

/** One metric. */
export interface InstrumentRow {
  readonly name: string;
  readonly kind: InstrumentKind;
  /** In the notation of UCUM. */
  readonly unit: string;
  readonly description: string;
  /** Names of its attributes. */
  readonly attributes: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /** Of a gauge: the largest value of the process is the value, not the sum. */
  readonly isLargest?: boolean;
}

/** Seconds, as the conventions for RPC have them. */
const callSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
/** Seconds of turns, which may take minutes. */
const turnSeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const flushSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const counts = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

const agent = "gen_ai.agent.name";
const callNames = ["rpc.system.name", "rpc.method", "rpc.response.status_code", "error.type"];
const protocolNames = ["a2a.protocol.binding", "a2a.protocol.version"];

export const instruments = {
  serverCall: {
    name: "rpc.server.call.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of calls of the server, streams included.",
    attributes: [...callNames, ...protocolNames, agent],
    buckets: callSeconds,
  },
  refused: {
    name: "trivium.server.refused",
    kind: "counter",
    unit: "{call}",
    description: "Calls refused because of a limit.",
    attributes: ["trivium.limit", "rpc.method", agent],
  },
  streams: {
    name: "trivium.server.streams",
    kind: "gauge",
    unit: "{stream}",
    description: "Open streams.",
    attributes: [agent],
  },
  streamLag: {
    name: "trivium.server.stream.lag",
    kind: "gauge",
    unit: "{event}",
    description: "Stored events that the slowest stream of this process has not read.",
    attributes: [agent],
    isLargest: true,
  },
  turn: {
    name: "gen_ai.invoke_agent.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of turns, by their outcome.",
    attributes: ["gen_ai.operation.name", agent, "trivium.turn.outcome", "trivium.turn.cause", "error.type"],
    buckets: turnSeconds,
  },
  firstEvent: {
    name: "trivium.turn.time_to_first_event",
    kind: "histogram",
    unit: "s",
    description: "Time from the start of a turn with a task to its first event.",
    attributes: [agent],
    buckets: turnSeconds,
  },
  turns: {
    name: "trivium.turns",
    kind: "gauge",
    unit: "{turn}",
    description: "Turns of this process by state: running, queued for room, or waiting for their caller.",
    attributes: ["trivium.turn.state", agent],
  },
  parked: {
    name: "trivium.tasks.parked",
    kind: "gauge",
    unit: "{task}",
    description:
      "Unfinished tasks in the store without a turn: until a `time`, or until a `call` (a message, an authorization, a wake). Every process on a store says the same.",
    attributes: ["trivium.parked.until", agent],
  },
  inbox: {
    name: "trivium.turn.inbox",
    kind: "gauge",
    unit: "{message}",
    description: "Messages that wait for a running turn.",
    attributes: [agent],
  },
  storeWait: {
    name: "trivium.turn.store_wait",
    kind: "histogram",
    unit: "s",
    description: "Time for which a turn's events waited for the store.",
    attributes: [agent],
    buckets: flushSeconds,
  },
  flush: {
    name: "trivium.store.flush.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of commits of the store.",
    attributes: ["db.system.name"],
    buckets: flushSeconds,
  },
  flushWrites: {
    name: "trivium.store.flush.writes",
    kind: "histogram",
    unit: "{write}",
    description: "Writes of tasks in one commit of the store.",
    attributes: ["db.system.name"],
    buckets: counts,
  },
  webhooksDue: {
    name: "trivium.push.due",
    kind: "gauge",
    unit: "{notification}",
    description: "Webhooks that have a notification due or under way.",
    attributes: [agent],
  },
  webhook: {
    name: "trivium.push.delivery.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of calls of webhooks.",
    attributes: ["trivium.push.outcome", agent],
    buckets: callSeconds,
  },
  webhooksDead: {
    name: "trivium.push.dead",
    kind: "counter",
    unit: "{notification}",
    description: "Notifications that were given up.",
    attributes: [agent],
  },
  loopDelayMean: {
    name: "nodejs.eventloop.delay.mean",
    kind: "gauge",
    unit: "s",
    description: "Mean delay of the event loop since the last collection.",
    attributes: [],
  },
  loopDelayP99: {
    name: "nodejs.eventloop.delay.p99",
    kind: "gauge",
    unit: "s",
    description: "99th percentile of the delay of the event loop since the last collection.",
    attributes: [],
  },
  loopDelayMax: {
    name: "nodejs.eventloop.delay.max",
    kind: "gauge",
    unit: "s",
    description: "Largest delay of the event loop since the last collection.",
    attributes: [],
  },
  clientCall: {
    name: "rpc.client.call.duration",
    kind: "histogram",
    unit: "s",
    description: "Duration of calls of clients, with all their attempts.",
    attributes: [...callNames, ...protocolNames, "server.address", "server.port"],
    buckets: callSeconds,
  },
  retries: {
    name: "trivium.client.retries",
    kind: "counter",
    unit: "{retry}",
    description: "Calls that a client made again.",
    attributes: ["rpc.method"],
  },
  fallbacks: {
    name: "trivium.client.fallbacks",
    kind: "counter",
    unit: "{fallback}",
    description: "Changes of a client to another interface of its agent.",
    attributes: ["rpc.method", ...protocolNames],
  },
  resumes: {
    name: "trivium.client.resumes",
    kind: "counter",
    unit: "{resume}",
    description: "Streams that a client resumed after a break.",
    attributes: ["rpc.method"],
  },
} as const satisfies Readonly<Record<string, InstrumentRow>>;

export type InstrumentName = keyof typeof instruments;
/** Instruments of one kind. */
export type NameOf<K extends InstrumentKind> = {
  [N in InstrumentName]: (typeof instruments)[N]["kind"] extends K ? N : never;
}[InstrumentName];
