import { metrics } from "@opentelemetry/api";
import { type DataPoint, type Histogram, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";

/** What a metric has measured with some attributes: its value, or for a histogram how many values. */
export interface Measured {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
  /** Of a histogram. */
  readonly sum: number | undefined;
}

/** An SDK of OpenTelemetry in this process that measures, for one test file. */
export interface StartedMetrics extends AsyncDisposable {
  /** The values of a metric now; a server's before it closed included. */
  of(name: string): Promise<readonly Measured[]>;
}

export function startMetrics(): StartedMetrics {
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  return {
    async of(name) {
      const { resourceMetrics } = await reader.collect();
      const found = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
      return found
        .filter(({ descriptor }) => descriptor.name === name)
        .flatMap(({ dataPoints }) => dataPoints as readonly DataPoint<number | Histogram>[])
        .map(({ attributes, value }) =>
          typeof value === "number"
            ? { attributes, value, sum: undefined }
            : { attributes, value: value.count, sum: value.sum },
        );
    },
    async [Symbol.asyncDispose]() {
      await provider.shutdown();
      metrics.disable();
    },
  };
}

/** A reader that collects when it is asked. */
class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}
