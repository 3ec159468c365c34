import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import { reply, type ServeOptions, serve } from "trivium";
import { describe, expect, it } from "vitest";
import type { Limits } from "../../src/server/limits.js";
import { type HttpAnswer, httpLine, json } from "../support/raw-http.js";

// Requests that are announced, unfinished or slow.

const mebibyte = 1 << 20;

/** Serves an agent whose callers are the values of the header `x-caller`. */
function start(limits: Partial<Limits>, tellsApart = true, more: Partial<ServeOptions> = {}) {
  const authenticate = tellsApart
    ? ({ header }: { header(name: string): string | undefined }) => ({ owner: header("x-caller") ?? "nobody" })
    : undefined;
  const card = { name: "Bytes", description: "Answers", version: "1.0.0" };
  return serve({ card, agent: async () => reply("done"), port: 0, limits, authenticate, versions: ["1.0"], ...more });
}

const body = (text = "hello") =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "SendMessage",
    params: { message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] } },
  });

async function send(port: number, caller: string): Promise<HttpAnswer> {
  using line = httpLine(port);
  return await line.ask({ target: "/json-rpc", headers: { ...json, "x-caller": caller }, body: body() });
}

/** Sends a part of a gRPC message, and returns the status that the call ends with. */
function partOfMessage(
  session: ClientHttp2Session,
  { length, sentBytes }: Required<Pick<Announced, "length" | "sentBytes">>,
): Promise<number> {
  const head = { ":method": "POST", ":path": "/lf.a2a.v1.A2AService/SendMessage", te: "trailers", "x-caller": "hog" };
  const stream = session.request({ ...head, "content-type": "application/grpc" });
  const part = Buffer.alloc(sentBytes + 5);
  part.writeUInt32BE(length, 1);
  stream.write(part);
  return new Promise((resolve) => {
    const read = (headers: IncomingHttpHeaders): void => resolve(Number(headers["grpc-status"]));
    stream.on("response", read).on("error", () => {});
  });
}

interface Announced {
  /** Default: the body comes in chunks. */
  readonly length?: number;
  readonly sentBytes: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Opens a request that announces `length` bytes, and sends `sentBytes` of them. */
function beginRequest(port: number, caller: string, { length, sentBytes, headers = {} }: Announced): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  const fields = Object.entries({
    Host: "localhost",
    "Content-Type": "application/json",
    "x-caller": caller,
    ...headers,
  });
  const head = `POST /json-rpc HTTP/1.1\r\n${fields.map((field) => `${field.join(": ")}\r\n`).join("")}`;
  // The interim response shows that the server has the headers.
  const expects = sentBytes === 0 ? "Expect: 100-continue\r\n" : "";
  socket.write(
    `${head}${expects}${length === undefined ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`}\r\n\r\n`,
  );
  socket.write(" ".repeat(sentBytes));
  return socket;
}

describe("a server with room for 256 MiB of requests", () => {
  it.each([true, false])(
    "a server answers while 64 sockets have announced 4 MiB each, callers told apart: %s",
    async (apart) => {
      await using server = await start({}, apart);
      const sockets = Array.from({ length: 64 }, () =>
        beginRequest(server.port, "hog", { length: 4 * mebibyte, sentBytes: 0 }),
      );
      await Promise.all(sockets.map((socket) => once(socket, "data")));
      expect((await send(server.port, "honest")).status).toBe(200);
      for (const socket of sockets) socket.destroy();
    },
  );

  it("a server answers while one HTTP/2 connection has announced 64 times 4 MiB", async () => {
    await using server = await start({});
    const session = connectHttp2(server.url);
    const head = { ":method": "POST", ":path": "/json-rpc", "content-type": "application/json", "x-caller": "hog" };
    const streams = Array.from({ length: 64 }, () =>
      session.request({ ...head, "content-length": 4 * mebibyte, expect: "100-continue" }).on("error", () => {}),
    );
    await Promise.all(streams.map((stream) => once(stream, "continue")));
    expect((await send(server.port, "honest")).status).toBe(200);
    session.destroy();
  });
});

describe("unfinished requests", () => {
  const limits = { inFlightMaxBytes: 400_000 };

  it("unfinished requests of one caller take half of the room, and the next is refused as its own", async () => {
    await using server = await start(limits);
    const sockets = [1, 2].map(() => beginRequest(server.port, "hog", { length: 200_000, sentBytes: 150_000 }));
    const [answer] = await Promise.race(sockets.map((socket) => once(socket, "data")));
    expect(String(answer)).toMatch(/^HTTP\/1\.1 429 .*\r\nRetry-After: 1\r\n.*this caller.*inFlightMaxBytes/is);
    expect((await send(server.port, "honest")).status).toBe(200);
    for (const socket of sockets) socket.destroy();
  });

  it.each([
    ["192.0.2.1", "192.0.2.2"],
    ["192.0.2.1, 192.0.2.9", "192.0.2.8"],
    ["2001:db8::1", "2001:db8:0:1::1"],
  ])(
    "unfinished requests count for the network that a trusted proxy reports: %s leaves room for %s",
    async (hog, honest) => {
      await using server = await start(limits, false, { trustProxy: ["127.0.0.1"] });
      const proxied = { "x-forwarded-for": hog };
      const sockets = [1, 2].map(() =>
        beginRequest(server.port, "", { length: 200_000, sentBytes: 150_000, headers: proxied }),
      );
      const [answer] = await Promise.race(sockets.map((socket) => once(socket, "data")));
      expect(String(answer)).toMatch(/^HTTP\/1\.1 429 .*this caller.*inFlightMaxBytes/is);
      using line = httpLine(server.port);
      const large = body("x".repeat(100_000));
      const ask = (from: string) =>
        line.ask({ target: "/json-rpc", headers: { ...json, "x-forwarded-for": from }, body: large });
      expect((await ask(honest)).status).toBe(200);
      expect((await ask(hog.replace(/1$/, "1:2"))).status).toBe(429);
      for (const socket of sockets) socket.destroy();
    },
  );

  it("unfinished requests are counted over gRPC before a message is whole", async () => {
    await using server = await start({ ...limits, bodyTimeoutMs: 60_000 });
    const session = connectHttp2(server.url);
    const calls = [1, 2].map(() => partOfMessage(session, { length: 200_000, sentBytes: 150_000 }));
    expect(await Promise.race(calls)).toBe(8);
    expect((await send(server.port, "honest")).status).toBe(200);
    session.destroy();
  });

  it("unfinished requests cost what their pieces take, also when each has a single byte", async () => {
    await using server = await start(limits);
    const socket = beginRequest(server.port, "hog", { sentBytes: 0 });
    await once(socket, "data");
    socket.write("1\r\n \r\n".repeat(2_000));
    const [answer] = await once(socket, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 503 .*too many bytes in memory.*inFlightMaxBytes/is);
    socket.destroy();
  });

  it("unfinished requests are given up when they arrive too slowly, long before the time is over", async () => {
    await using server = await start({ bodyTimeoutMs: 3_000 });
    const startedAt = performance.now();
    const slow = beginRequest(server.port, "slow", { length: 200_000, sentBytes: 1_000 });
    const [answer] = await once(slow, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 (?:200|408) .*more slowly than 1024 bytes a second/s);
    expect(performance.now() - startedAt).toBeLessThan(2_900);
    slow.destroy();
  });
});
