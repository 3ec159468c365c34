import { context, metrics, propagation, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { NodeSDK, tracing } from "@opentelemetry/sdk-node";
import { type OtlpReceiver, receiveOtlp } from "./otlp-receiver.js";

/** An SDK of OpenTelemetry in this process that exports to a receiver. */
export interface StartedSdk extends AsyncDisposable {
  readonly receiver: OtlpReceiver;
}

/** Starts an SDK that exports each span when it ends. Only one runs in a process at a time. */
export async function startSdk(): Promise<StartedSdk> {
  const receiver = await receiveOtlp();
  const exporter = new OTLPTraceExporter({ url: `${receiver.url}/v1/traces` });
  const sdk = new NodeSDK({
    serviceName: "test",
    autoDetectResources: false,
    metricReaders: [],
    spanProcessors: [new tracing.SimpleSpanProcessor(exporter)],
  });
  sdk.start();
  return {
    receiver,
    async [Symbol.asyncDispose]() {
      await sdk.shutdown();
      for (const api of [trace, metrics, context, propagation]) api.disable();
      await receiver[Symbol.asyncDispose]();
    },
  };
}
