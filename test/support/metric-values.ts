import { metrics } from "@opentelemetry/api";
import { type DataPoint, type Histogram, MeterProvider, MetricReader } from "@opentelemetry/sdk-metrics";

/** A value of a metric with its attributes; for a histogram the number of values. */
export interface MetricValue {
  /** Name and version of the instrumentation. */
  readonly scope: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
  /** Of a histogram. */
  readonly sum: number | undefined;
}

/** An SDK of OpenTelemetry in this process that measures, for one test file. */
export interface StartedMetrics extends AsyncDisposable {
  /** The values of a metric now; a server's before it closed included. */
  of(name: string): Promise<readonly MetricValue[]>;
}

export function startMetrics(): StartedMetrics {
  const reader = new Reader();
  const provider = new MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  return {
    async of(name) {
      const { resourceMetrics } = await reader.collect();
      const metricData = resourceMetrics.scopeMetrics.flatMap(({ scope, metrics }) =>
        metrics.map((each) => ({ ...each, scope: `${scope.name} ${scope.version}` })),
      );
      return metricData
        .filter(({ descriptor }) => descriptor.name === name)
        .flatMap(({ scope, dataPoints }) =>
          (dataPoints as readonly DataPoint<number | Histogram>[]).map(({ attributes, value }) =>
            typeof value === "number"
              ? { scope, attributes, value, sum: undefined }
              : { scope, attributes, value: value.count, sum: value.sum },
          ),
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
