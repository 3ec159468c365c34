// Starts the OpenTelemetry SDK. It sends spans and metrics to OTEL_EXPORTER_OTLP_ENDPOINT (default: http://localhost:4318)
// under the name in OTEL_SERVICE_NAME. Import it before everything else.
import { NodeSDK } from "@opentelemetry/sdk-node";

export const sdk = new NodeSDK();
sdk.start();
