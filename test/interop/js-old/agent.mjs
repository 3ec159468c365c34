import { once } from "node:events";
import { createServer } from "node:http";
import { parseArgs } from "node:util";
import express from "express";

// An older JavaScript SDK as an agent on every binding it has: prints one line of JSON that says where its card is, and ends
// with its standard input.

// What the SDKs log is no part of what this program says.
console.log = console.info = console.warn = () => {};

const agents = { 0.3: "./kind/agent-0.3.mjs", 0.2: "./kind/agent-0.2.mjs", 0.1: "./oldest/agent.mjs" };

const { values } = parseArgs({ options: { sdk: { type: "string" } } });
const { mount } = await import(agents[values.sdk]);
const app = express();
const http = createServer(app);
http.listen(0, "127.0.0.1");
await once(http, "listening");
const base = `http://127.0.0.1:${http.address().port}`;
await mount(app, base);

process.stdout.write(`${JSON.stringify({ card: base })}\n`);
process.stdin.resume().once("end", () => process.exit(0));
