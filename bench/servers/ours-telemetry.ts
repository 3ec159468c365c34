/**
 * This framework beside OpenTelemetry: `ours-telemetry.ts off|api|bare|sampled`. `off` follows nothing, `api` has the API without
 * an SDK, `sampled` an SDK that records one trace in a hundred and all metrics, and throws away what it exports. `bare` follows
 * nothing either, but its agent makes the calls of that SDK which no telemetry of a message or a task can do without.
 */
import * as api from "@opentelemetry/api";
import { metrics, NodeSDK, tracing } from "@opentelemetry/sdk-node";
import { loadTrivium } from "../built.ts";
import { announce } from "../control.ts";
import { answerText, parseScript } from "../corpus.ts";

const [, , mode] = process.argv;
if (mode === "sampled" || mode === "bare") startSdk();
const callSdk = mode === "bare" ? bareCalls() : noCalls;

const { artifact, completed, reply, serve, working } = await loadTrivium();
const server = await serve({
  card: { name: "Bench", description: "Answers messages with a reply or a task", version: "1.0.0" },
  port: 0,
  ...(mode === "off" || mode === "bare" ? { telemetry: false } : {}),
  async *agent({ text }) {
    const { verb } = parseScript(text);
    callSdk(verb);
    if (verb === "message") return yield reply(answerText);
    yield working();
    yield artifact(answerText);
    yield completed();
  },
});
const port = Number(new URL(server.url).port);
announce({ http: port, grpc: port });

type Verb = ReturnType<typeof parseScript>["verb"];

function noCalls(_: Verb): void {}

/**
 * A span of a call, its context, and the durations of the call and of its turn, with the attributes that the framework gives them.
 * A task has the time to its first event besides. No turn has a span: its call is not sampled.
 */
function bareCalls(): (verb: Verb) => void {
  const tracer = api.trace.getTracer("bare");
  const meter = api.metrics.getMeter("bare");
  const advice = {
    explicitBucketBoundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  };
  const calls = meter.createHistogram("call", { advice });
  const turns = meter.createHistogram("turn", { advice });
  const firsts = meter.createHistogram("first", { advice });
  const name = "lf.a2a.v1.A2AService/SendMessage";
  const attributes = { "rpc.system.name": "jsonrpc", "rpc.method": name };
  const agent = { "gen_ai.agent.name": "Bench" };
  const ofCall = { ...attributes, "a2a.protocol.binding": "JSONRPC", "a2a.protocol.version": "1.0", ...agent };
  const turn = { "gen_ai.operation.name": "invoke_agent", ...agent, "trivium.turn.cause": "message" };
  const ofReply = { ...turn, "trivium.turn.outcome": "replied" };
  const ofTask = { ...turn, "trivium.turn.outcome": "completed" };
  return (verb) => {
    const span = tracer.startSpan(name, { kind: api.SpanKind.SERVER, attributes }, api.ROOT_CONTEXT);
    const within = api.trace.setSpan(api.ROOT_CONTEXT, span);
    api.context.with(within, () => {
      calls.record(0.01, ofCall, within);
      turns.record(0.01, verb === "message" ? ofReply : ofTask, within);
      if (verb !== "message") firsts.record(0.01, agent, within);
    });
    span.end();
  };
}

function startSdk(): void {
  const sampler = new tracing.ParentBasedSampler({ root: new tracing.TraceIdRatioBasedSampler(0.01) });
  const nowhere = new tracing.InMemorySpanExporter();
  nowhere.export = (_, done) => done({ code: 0 });
  const exporter = new metrics.InMemoryMetricExporter(metrics.AggregationTemporality.CUMULATIVE);
  new NodeSDK({
    autoDetectResources: false,
    sampler,
    spanProcessors: [new tracing.BatchSpanProcessor(nowhere)],
    metricReaders: [new metrics.PeriodicExportingMetricReader({ exporter })],
  }).start();
}
