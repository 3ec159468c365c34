/** Options of telemetry, beside spans and metrics of the SDK. */
export interface TelemetryOptions {
  /** Serves the metrics of the agent for Prometheus, with or without an SDK. Default: off. */
  readonly metrics?: MetricsOptions | undefined;
  /**
   * Errors in spans. Their messages and stacks may hold texts of callers and models. `"type"` leaves both out of the
   * `exception` events and of the status of spans, and keeps the type. It also applies to the clients of `turn.client`.
   * Default: `"full"`.
   */
  readonly exceptions?: "full" | "type" | undefined;
}

/** `full`: type, message and stack of an error; `type`: only its type. */
export type ExceptionDetail = NonNullable<TelemetryOptions["exceptions"]>;

/**
 * The port that serves metrics, at `/metrics`. Needs `@opentelemetry/exporter-prometheus` and
 * `@opentelemetry/sdk-metrics`. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` name the service.
 */
export interface MetricsOptions {
  /** Port to listen on; 0 picks a free one, which the log names. */
  readonly port: number;
  /** Address to listen on. Anyone who reaches it may read the metrics. Default: 127.0.0.1. */
  readonly host?: string | undefined;
}
