import { once } from "node:events";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import { AgentCard } from "@a2a-js/sdk";
import {
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { A2AService, grpcService } from "@a2a-js/sdk/server/grpc";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import express from "express";
import { cardOf } from "./card.mjs";
import { overGrpc, overHttp, security } from "./guard.mjs";
import { Script } from "./script.mjs";

// The official JavaScript SDK as an agent on every binding it has: prints one line of JSON that says where its card is,
// and ends with its standard input. With `--token` and `--key` it demands one of them.

const { values: wanted } = parseArgs({ options: { token: { type: "string" }, key: { type: "string" } } });
const isGuarded = wanted.token !== undefined;

const app = express();
const http = createServer(app);
http.listen(0, "127.0.0.1");
await once(http, "listening");
const base = `http://127.0.0.1:${http.address().port}`;

const rpc = new Server({ interceptors: isGuarded ? [overGrpc(wanted)] : [] });
const rpcPort = await new Promise((resolve, reject) => {
  rpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
    error ? reject(error) : resolve(port),
  );
});

const card = AgentCard.fromJSON({ ...cardOf(base, rpcPort), ...(isGuarded && security) });
const pushStore = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  new Script(),
  undefined,
  pushStore,
  new DefaultPushNotificationSender(pushStore),
);
const end = { requestHandler, userBuilder: UserBuilder.noAuthentication };
app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: requestHandler }));
if (isGuarded) app.use(overHttp(wanted));
app.use("/rpc", jsonRpcHandler(end));
app.use("/rest", restHandler(end));
rpc.addService(A2AService, grpcService(end));

process.stdout.write(`${JSON.stringify({ card: base })}\n`);
process.stdin.resume().once("end", () => process.exit(0));
