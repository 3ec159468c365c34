// A program that serves an agent with the options of a case, is sent a message, and says of which sources it has loaded code.
import { setTimeout as pause } from "node:timers/promises";
import { watchLoading } from "../support/loaded-sources.mjs";

const loaded = watchLoading();
const { reply, serve } = await import("trivium");
const own = {
  card: { name: "Loading", description: "Says what it has loaded", version: "1.0.0" },
  agent: async () => reply("pong"),
};
const cases = {
  plain: async () => ({}),
  authenticate: async () => ({ authenticate: () => ({ owner: "anna" }) }),
  auth: async () => ({
    auth: {
      schemes: { key: (await import("trivium/auth")).apiKey({ in: "header", name: "x-key", verify: () => "anna" }) },
    },
  }),
  sqlite: async () => ({ store: (await import("trivium/sqlite")).sqliteStore({ path: ":memory:" }) }),
  named: async () => ({ agents: { "/": own } }),
  listed: async () => ({ agents: { "/": own }, catalogue: true }),
  interceptors: async () => ({ interceptors: [(_call, next) => next()], accessLog: true }),
};
const options = await cases[process.argv[2]]();
const server = await serve({
  ...("agents" in options ? {} : own),
  port: 0,
  logger: { debug() {}, info() {}, warn() {}, error() {} },
  ...options,
});
const started = [...loaded].toSorted();
const answer = await fetch(`${server.url}/json-rpc`, {
  method: "POST",
  headers: { "content-type": "application/json", "a2a-version": "1.0" },
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "SendMessage",
    params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "ping" }] } },
  }),
});
const status = answer.status;
await answer.text();
const answered = [...loaded].toSorted();
// Without a call, nothing but the server itself loads it.
while (!loaded.has("binding/grpc/listener")) await pause(10);
await server.close();
process.stdout.write(JSON.stringify({ status, started, answered }));
