// Starts the SDK of OpenTelemetry. It sends spans and metrics to OTEL_EXPORTER_OTLP_ENDPOINT (http://localhost:4318 unless set)
// under the name in OTEL_SERVICE_NAME. Import it before everything else.
import { NodeSDK } from "@opentelemetry/sdk-node";

export const sdk = new NodeSDK();
sdk.start();
