import { once } from "node:events";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import express from "express";
import { overGrpc, overHttp, securityBefore } from "../js/guard.mjs";

// An older JavaScript SDK as an agent on every binding it has: prints one line of JSON that says where its card is, and ends
// with its standard input. With `--token` and `--key` it demands one of them.

// What the SDKs log is no part of what this program says.
console.log = console.info = console.warn = () => {};

const agents = { 0.3: "./kind/agent-0.3.mjs", 0.2: "./kind/agent-0.2.mjs", 0.1: "./oldest/agent.mjs" };

const names = ["sdk", "token", "key"];
const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: "string" }])) });
const isGuarded = values.token !== undefined;
const { mount } = await import(agents[values.sdk]);
const app = express();
const http = createServer(app);
http.listen(0, "127.0.0.1");
await once(http, "listening");
const base = `http://127.0.0.1:${http.address().port}`;
if (isGuarded) {
  const guard = overHttp(values);
  app.use((request, ...rest) => (request.path.startsWith("/.well-known/") ? rest[1]() : guard(request, ...rest)));
}
const security = securityBefore[values.sdk === "0.1" ? "0.1" : "0.3"];
await mount(app, base, isGuarded ? { security, interceptors: [overGrpc(values)] } : {});

process.stdout.write(`${JSON.stringify({ card: base })}\n`);
process.stdin.resume().once("end", () => process.exit(0));
