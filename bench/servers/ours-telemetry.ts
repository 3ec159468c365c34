/**
 * This framework beside OpenTelemetry: `ours-telemetry.ts off|api|sampled`. `off` follows nothing, `api` has the API without an SDK,
 * `sampled` an SDK that records one trace in a hundred and all metrics, and throws away what it exports.
 */
import { metrics, NodeSDK, tracing } from "@opentelemetry/sdk-node";
import { loadTrivium } from "../built.ts";
import { announce } from "../control.ts";
import { answerText, parseScript } from "../corpus.ts";

const [, , mode] = process.argv;
if (mode === "sampled") startSdk();

const { artifact, completed, reply, serve, working } = await loadTrivium();
const server = await serve({
  card: { name: "Bench", description: "Answers messages with a reply or a task", version: "1.0.0" },
  port: 0,
  ...(mode === "off" ? { telemetry: false } : {}),
  async *agent({ text }) {
    if (parseScript(text).verb === "message") return yield reply(answerText);
    yield working();
    yield artifact(answerText);
    yield completed();
  },
});
const port = Number(new URL(server.url).port);
announce({ http: port, grpc: port });

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
