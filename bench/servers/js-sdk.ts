/**
 * The peer: `@a2a-js/sdk` as its README mounts it, Express for JSON-RPC and HTTP+JSON, grpc-js beside it. The first
 * argument names a file of SQLite for its database store, which is in memory otherwise.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { AGENT_CARD_PATH, type AgentCard } from "@a2a-js/sdk";
import { DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { announce } from "../control.ts";
import { executor } from "./js-sdk-executor.ts";
import { sqliteTaskStore } from "./js-sdk-store.ts";
import { portOf } from "./port.ts";

const modes = { defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"] };
const skill = { id: "bench", name: "Bench", description: "Answers the scripts", tags: [], examples: [] };
const card: AgentCard = {
  name: "Bench",
  description: "Answers the scripts of the benchmark",
  version: "1.0.0",
  supportedInterfaces: [
    { url: "http://127.0.0.1/json-rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "" },
    { url: "http://127.0.0.1/http-json", protocolBinding: "HTTP+JSON", protocolVersion: "1.0", tenant: "" },
    { url: "127.0.0.1", protocolBinding: "GRPC", protocolVersion: "1.0", tenant: "" },
  ],
  provider: undefined,
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  ...modes,
  skills: [{ ...skill, inputModes: ["text/plain"], outputModes: ["text/plain"], securityRequirements: [] }],
  signatures: [],
};

const file = process.argv[2];
const store = file === undefined ? new InMemoryTaskStore() : await sqliteTaskStore(file);
const requestHandler = new DefaultRequestHandler(card, store, executor);
const userBuilder = UserBuilder.noAuthentication;

const app = express();
app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/json-rpc", jsonRpcHandler({ requestHandler, userBuilder }));
app.use("/http-json", restHandler({ requestHandler, userBuilder }));
const http = createServer(app).listen(0, "127.0.0.1");
await once(http, "listening");

const grpc = new Server();
grpc.addService(A2AService, grpcService({ requestHandler, userBuilder }));
const port = await new Promise<number>((resolve, reject) => {
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
    error ? reject(error) : resolve(bound),
  );
});
announce({ http: portOf(http), grpc: port });
