import type { IncomingMessage } from "node:http";
import { A2AError, type AgentOptions, createAgent, reply, serve } from "trivium";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readHead } from "../../src/binding/http/call.js";
import { type HttpEndpoint, type HttpReply, plainReply } from "../../src/binding/http/http.js";
import { ServerCall } from "../../src/binding/server-call.js";
import type { Service } from "../../src/binding/service.js";
import { serverBindings } from "../../src/server/bindings.js";
import { wireTo } from "../support/http-calls.js";

// A binding that takes connections over stands in the row of another: it greets known callers and sends everything back.

const echoes =
  (service: Service): HttpEndpoint =>
  (request) =>
    request.path === "/echo" ? takeOver(service, request) : undefined;

async function takeOver(service: Service, request: Parameters<HttpEndpoint>[0]): Promise<HttpReply> {
  const call = new ServerCall(service, readHead("CONNECT", request));
  try {
    await call.authenticate();
  } catch (error) {
    const shown = call.publicError(error);
    return plainReply(call.chooseHttpStatus(shown), shown.message);
  } finally {
    call.end();
  }
  const { socket } = request.native as IncomingMessage;
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`);
  socket.write(`${request.mountPath} greets ${call.principal.owner}\n`);
  socket.pipe(socket);
  return new Promise((resolve) => socket.on("close", () => resolve({ status: 101, headers: {}, body: undefined })));
}

const table: object = serverBindings;
const { CONNECT } = serverBindings;
const row: typeof CONNECT = { upgrade: "echo", routes: ({ service }) => ({ beside: echoes(service) }) };
beforeAll(() => void Object.assign(table, { CONNECT: row }));
afterAll(() => void Object.assign(table, { CONNECT }));

const options: AgentOptions = {
  card: { name: "Known", description: "Answers callers that it knows", version: "1" },
  bindings: ["CONNECT", "JSONRPC"],
  authenticate({ header }) {
    const owner = header("x-name");
    if (owner === undefined) throw new A2AError("unauthenticated", "say who you are");
    return { owner };
  },
  async *agent() {
    yield reply("hello");
  },
};

function asking(path: string, name?: string): string {
  const named = name === undefined ? "" : `X-Name: ${name}\r\n`;
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n${named}\r\n`;
}

it("a server hands requests to upgrade to the agent and the row that ask for them", async () => {
  const agents = { "/a": options, "/b": { ...options, bindings: ["JSONRPC"] as const } };
  await using server = await serve({ agents, port: 0, drainMs: 0, logger: false });
  const knownWire = wireTo(server.port);
  knownWire.socket.end(`${asking("/a/echo", "ada")}ping`);
  expect(await knownWire.whenClosed).toMatch(/^HTTP\/1\.1 101 [\s\S]*\r\n\r\n\/a greets ada\nping$/);
  const unknown = wireTo(server.port);
  unknown.socket.end(asking("/a/echo"));
  expect(await unknown.whenClosed).toMatch(/^HTTP\/1\.1 401 [\s\S]*Connection: close[\s\S]*say who you are\n$/);
  const other = wireTo(server.port);
  other.socket.end(asking("/b/echo", "ada"));
  expect(await other.whenClosed).toMatch(/^HTTP\/1\.1 404 /);
});

it("requests to upgrade are served by `serve` alone: a server of a mount keeps its connections", async () => {
  await using agent = await createAgent({ ...options, publicUrl: "https://agent.example" });
  expect(new Set(agent.card.supportedInterfaces.map(({ protocolBinding }) => protocolBinding))).toEqual(
    new Set(["JSONRPC"]),
  );
});
