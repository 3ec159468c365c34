// Loaded before a program: an SDK with the instrumentations of HTTP, undici and gRPC.
import { register } from "node:module";
import { GrpcInstrumentation } from "@opentelemetry/instrumentation-grpc";
import { HttpInstrumentation } from "@opentelemetry/instrumentation-http";
import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
import { NodeSDK } from "@opentelemetry/sdk-node";

register("@opentelemetry/instrumentation/hook.mjs", import.meta.url);
const sdk = new NodeSDK({
  serviceName: "instrumented",
  autoDetectResources: false,
  instrumentations: [new HttpInstrumentation(), new UndiciInstrumentation(), new GrpcInstrumentation()],
});
sdk.start();
process.once("beforeExit", () => void sdk.shutdown());
