/** The SDK with one agent on JSON-RPC, HTTP+JSON and gRPC, set up as in the other rows, but with no types to strip. */
import { createServer } from "node:http";
import { Role } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server } from "@grpc/grpc-js";
import express from "express";
import { announceStart } from "./start-control.js";

const text = (/** @type {string} */ value) => ({
  content: { $case: /** @type {const} */ ("text"), value },
  metadata: undefined,
  filename: "",
  mediaType: "",
});
/** @type {import("@a2a-js/sdk").AgentCard} */
const card = {
  name: "Start",
  description: "Answers one message",
  version: "1.0.0",
  supportedInterfaces: [
    { url: "http://127.0.0.1/json-rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" },
  ],
  provider: undefined,
  capabilities: { streaming: true, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  signatures: [],
};
/** @type {import("@a2a-js/sdk/server").AgentExecutor} */
const executor = {
  execute: async ({ contextId }, bus) => {
    const ids = { messageId: "m", contextId, taskId: "", extensions: [], referenceTaskIds: [], metadata: undefined };
    bus.publish(AgentEvent.message({ ...ids, role: Role.ROLE_AGENT, parts: [text("pong")] }));
    bus.finished();
  },
  cancelTask: async () => {},
};

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
const userBuilder = UserBuilder.noAuthentication;
new Server().addService(A2AService, grpcService({ requestHandler, userBuilder }));
const app = express();
app.use("/json-rpc", jsonRpcHandler({ requestHandler, userBuilder }));
app.use("/http-json", restHandler({ requestHandler, userBuilder }));
const http = createServer(app).listen(0, "127.0.0.1", () => {
  const address = http.address();
  if (address !== null && typeof address === "object") announceStart(address.port);
});
