import { once } from "node:events";
import { Agent, type IncomingMessage, request as nodeRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import { expect, it } from "vitest";
import type { RequestListener } from "../../../src/binding/listen/connection.js";
import { createListener, type ListenerOptions } from "../../../src/binding/listen/listener.js";
import { getOverHttp1, wireTo } from "../../support/http-calls.js";
import { localTls } from "../../support/tls.js";

const switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";

const takesOver = (request: Parameters<RequestListener>[0]): request is IncomingMessage =>
  request.url === "/echo" && request.headers.upgrade?.toLowerCase() === "echo";

/** Upgrades to a protocol that sends everything back; answers other requests with what they are. */
const http: RequestListener = async (request, response) => {
  if (takesOver(request)) {
    request.socket.write(switched);
    request.socket.pipe(request.socket);
    return;
  }
  let body = "";
  for await (const piece of request) body += piece;
  response.end(`${request.method} ${request.url} ${body}`);
};

async function listen(more: Partial<ListenerOptions> = {}) {
  const listener = await createListener({ host: "127.0.0.1", port: 0, http, upgrades: ["echo"], ...more });
  return { ...listener, [Symbol.asyncDispose]: () => listener.close() };
}

const asking = (path: string, protocol: string, body = ""): string =>
  [
    `${body === "" ? "GET" : "POST"} ${path} HTTP/1.1`,
    "Host: a",
    "Connection: Upgrade",
    `Upgrade: ${protocol}`,
    ...(body === "" ? [] : [`Content-Length: ${body.length}`]),
    `\r\n${body}`,
  ].join("\r\n");

/** Reads until this text has come. */
async function until(socket: Socket, end: string): Promise<string> {
  let text = "";
  socket.setEncoding("latin1");
  while (!text.endsWith(end)) text += (await once(socket, "data"))[0];
  return text;
}

it.each(["plain", "TLS"])("the listener hands over the connection of a request to upgrade: %s", async (kind) => {
  const isPlain = kind === "plain";
  await using listener = await listen(isPlain ? {} : { tls: localTls });
  const at = { port: listener.port, host: "localhost" };
  const socket = isPlain ? connect({ ...at, host: "127.0.0.1" }) : tlsConnect({ ...at, ca: localTls.cert });
  // What follows the request at once comes first.
  socket.write(`${asking("/echo", "Echo")}early `);
  expect(await until(socket, "early ")).toBe(`${switched}early `);
  socket.write("late");
  expect(await until(socket, "late")).toBe("late");
  socket.destroy();
});

it("the listener answers a request whose upgrade is refused, and closes the connection", async () => {
  await using listener = await listen();
  const wire = wireTo(listener.port);
  wire.socket.write(asking("/other", "echo"));
  expect(await wire.whenClosed).toMatch(/^HTTP\/1\.1 200[\s\S]*Connection: close[\s\S]*GET \/other $/);
});

it.each([
  ["another protocol", {}],
  ["any protocol, without one of its own", { upgrades: [] }],
])("the listener answers a request to upgrade to %s as if it did not ask", async (_, options) => {
  await using listener = await listen(options);
  const protocol = "upgrades" in options ? "echo" : "h2c";
  const wire = wireTo(listener.port);
  wire.socket.write(asking("/first", protocol, "body"));
  await once(wire.socket, "data");
  wire.socket.write("GET /again HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  expect(await wire.whenClosed).toMatch(/^HTTP\/1\.1 200[\s\S]*POST \/first bodyHTTP\/1\.1 200[\s\S]*GET \/again $/);
});

it("the listener upgrades a connection that has served requests, and keeps it while others close", async () => {
  await using listener = await listen({ limits: { keepAliveIdleMs: 1 } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect(await getOverHttp1(listener.port, "/plain", agent)).toMatchObject({ status: 200, body: "GET /plain " });
  const request = nodeRequest({
    ...{ host: "127.0.0.1", port: listener.port, path: "/echo", agent },
    headers: { connection: "Upgrade", upgrade: "echo" },
  }).end();
  const [, socket] = (await once(request, "upgrade")) as [IncomingMessage, Socket];
  await listener.retire(0);
  socket.write("still here");
  expect(await until(socket, "here")).toBe("still here");
  const closed = once(socket, "close");
  await listener.close();
  await closed;
});
