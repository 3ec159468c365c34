import { constants } from "node:http2";
import { reply } from "trivium";
import { describe, expect, it, vi } from "vitest";
import { findOperation } from "../../../src/protocol/operations.js";
import { frame, rawSession } from "../../support/grpc-raw.js";
import { http2Session, type Wire, wireTo } from "../../support/http-calls.js";
import { httpEnds } from "../../support/http-ends.js";
import { encodeLoosely } from "../../support/raw-grpc.js";
import { httpLine, json } from "../../support/raw-http.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// Connections that send nothing, half of a request, or another protocol, to the port that serves everything.

/** Times that a case waits for. What it does not wait for stays as long as usual: a busy process would cut good calls off. */
const quick = { headerTimeoutMs: 200, bodyTimeoutMs: 200, keepAliveIdleMs: 200, http2IdleMs: 500 };
const quickBody = { bodyTimeoutMs: 200, keepAliveIdleMs: 200 };
const quickIdle = { keepAliveIdleMs: 200 };
const [rpc] = httpEnds;
const body = rpc?.body ?? "";
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
const goodFrame = frame(encodeLoosely(findOperation("sendMessage").input, { message }));

/** A server of one case. Cases that wait run at the same time. */
interface Scene extends AsyncDisposable {
  readonly port: number;
  readonly turns: () => number;
  saying(bytes: string): Wire;
  expectServes(): Promise<void>;
}

const logs: ServedAgent["log"][] = [];

async function scene(limits: Partial<typeof quick> = {}): Promise<Scene> {
  let turns = 0;
  const served = await startAgent("JSONRPC", {
    limits,
    versions: ["1.0"],
    agent: async () => {
      turns++;
      return reply("done");
    },
  });
  logs.push(served.log);
  const { port } = served.server;
  return {
    port,
    turns: () => turns,
    saying(bytes) {
      const wire = wireTo(port);
      wire.socket.write(Buffer.from(bytes, "latin1"));
      return wire;
    },
    async expectServes() {
      await untilServed(async () => {
        using line = httpLine(port);
        const answer = await line.ask({ target: "/json-rpc", headers: json, body });
        expect([answer.status, rpc?.errorOf(answer)]).toEqual([200, undefined]);
      });
      await untilServed(async () => {
        using session = rawSession(port);
        expect((await session.call("SendMessage", goodFrame)).status).toBe(0);
      });
      expect(turns).toBe(2);
    },
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

/** Calls again while a time that is quick for this machine cuts the call off, before it is executed. */
function untilServed(call: () => Promise<void>): Promise<void> {
  return vi.waitFor(call, { timeout: 30_000, interval: 0 });
}

const head = (...lines: string[]): string =>
  `POST /json-rpc HTTP/1.1\r\nHost: localhost\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
const jsonHead = (...lines: string[]): string => head("Content-Type: application/json", ...lines);
const length = `Content-Length: ${body.length}`;
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const settings = "\0\0\0\x04\0\0\0\0\0";

describe.concurrent("is closed in time, with nothing executed:", () => {
  it.each([
    ["a connection that says nothing", ""],
    ["half of a request line", "POST /json-r"],
    ["half of the headers", head().slice(0, -4)],
    ["half of the HTTP/2 preface", preface.slice(0, 10)],
    ["the preface and no settings", preface],
    ["an HTTP/2 frame that never ends", `${preface}${settings}\0\x40\0\0\0\0\0\0\x01`],
  ])("a connection is closed in time, with nothing executed: %s", async (_, bytes) => {
    await using server = await scene(quick);
    const answer = await server.saying(bytes).whenClosed;
    expect(answer).not.toMatch(/^HTTP\/1\.1 [25]/);
    expect(server.turns()).toBe(0);
    await server.expectServes();
  });

  it.each([
    ["half of a body of known length", jsonHead(length) + body.slice(0, 20)],
    ["half of a body in chunks", `${jsonHead("Transfer-Encoding: chunked")}14\r\n${body.slice(0, 20)}\r\n`],
    ["no body of the length that it names", jsonHead(length)],
  ])("a connection is closed in time with the reason, and nothing executed: %s", async (_, bytes) => {
    await using server = await scene(quickBody);
    const answer = await server.saying(bytes).whenClosed;
    expect(answer).toMatch(/^HTTP\/1\.1 (200|408) /);
    expect(answer).toContain("REQUEST_TIMEOUT");
    expect(server.turns()).toBe(0);
    await server.expectServes();
  });

  it.each([
    ["headers", head("X-Slow: yes").slice(0, -2), "a"],
    ["a body", jsonHead("Content-Length: 5000"), " "],
  ])(
    "a connection is closed in time, with nothing executed: %s that come one byte at a time",
    async (_, start, drop) => {
      await using server = await scene(quick);
      const wire = server.saying(start);
      const drip = setInterval(() => wire.socket.write(drop), 20);
      await wire.whenClosed;
      clearInterval(drip);
      expect(server.turns()).toBe(0);
      await server.expectServes();
    },
  );

  it("an idle kept-alive connection is closed in time", async () => {
    await using server = await scene(quickIdle);
    const answer = await server.saying(jsonHead(length) + body).whenClosed;
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe.concurrent("is refused and closed, with nothing executed:", () => {
  it.each([
    ["no HTTP", "HELLO\r\n\r\n"],
    ["a TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["HTTP/0.9", "GET /\r\n\r\n"],
    ["HTTP/3.0", "GET / HTTP/3.0\r\nHost: localhost\r\n\r\n"],
    ["a target with a space", "GET /json rpc HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    ["no host", "GET / HTTP/1.1\r\n\r\n"],
    ["a header without a name", head(": x")],
    ["a header with a space in its name", head("X Y: z")],
    ["a zero byte in a header", head("X-Y: a\0b")],
    ["a line feed alone in a header", head("X-Y: a\n\tb\rX: c")],
    ["two lengths", `${jsonHead("Content-Length: 3", length)}${body}`],
    ["a negative length", `${jsonHead("Content-Length: -1")}${body}`],
    ["a length of text", `${jsonHead("Content-Length: many")}${body}`],
    ["a length and chunks", `${jsonHead(length, "Transfer-Encoding: chunked")}${body}`],
    ["chunks of an unknown kind", `${jsonHead("Transfer-Encoding: chunked, nope")}${body}`],
    ["a chunk of a size that is none", `${jsonHead("Transfer-Encoding: chunked")}zz\r\n${body}`],
    ["a chunk of endless size", `${jsonHead("Transfer-Encoding: chunked")}fffffffffffffffff\r\n${body}`],
    ["headers over the limit", head(`X-Long: ${"x".repeat(20_000)}`)],
  ])("a request is refused and its connection closed, with nothing executed: %s", async (_, bytes) => {
    await using server = await scene();
    expect(await server.saying(bytes).whenClosed).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(server.turns()).toBe(0);
    await server.expectServes();
  });
});

it.concurrent.each([
  [
    "an upgrade to a web socket",
    head("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", "Content-Length: 0"),
  ],
  [
    "an upgrade to h2c",
    head("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x", "Content-Length: 0"),
  ],
  ["OPTIONS of everything", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ["an expectation that nobody has", jsonHead(length, "Expect: miracles")],
  ["CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n"],
  ["TRACE", "TRACE / HTTP/1.1\r\nHost: localhost\r\nX-Secret: s3cret\r\n\r\n"],
])("%s leads nowhere", async (_, bytes) => {
  await using server = await scene(quickIdle);
  const answer = await server.saying(bytes).whenClosed;
  expect(answer).not.toMatch(/^HTTP\/1\.1 (1|5)/);
  expect(answer).not.toContain("s3cret");
  expect(server.turns()).toBe(0);
  await server.expectServes();
});

it("a thousand pipelined requests are answered one by one, in order", async () => {
  await using server = await scene(quickIdle);
  const requests = Array.from({ length: 1_000 }, (_, id) => {
    const text = `{"jsonrpc":"2.0","id":${id},"method":"ListTasks","params":{"pageSize":1}}`;
    return jsonHead(`Content-Length: ${text.length}`) + text;
  });
  const answer = await server.saying(requests.join("")).whenClosed;
  const ids = [...answer.matchAll(/"id":(\d+),"result"/g)].map(([, id]) => Number(id));
  expect(ids).toEqual(requests.map((_, id) => id));
});

describe("loses its HTTP/2 connection:", () => {
  it.each([
    ["garbage behind the preface", "\xff".repeat(200)],
    ["a frame that is too long", "\xff\xff\xff\0\0\0\0\0\x01"],
    ["data on a stream that was never opened", "\0\0\x01\0\0\0\0\0\x01x"],
    ["headers that are no HPACK", "\0\0\x05\x01\x05\0\0\0\x01\xff\xff\xff\xff\xff"],
    [
      "headers that never end",
      `\0\0\x01\x01\0\0\0\0\x01\x82${`\0\x20\0\x09\0\0\0\0\x01${"\0".repeat(8_192)}`.repeat(40)}`,
    ],
    ["a window that runs over", "\0\0\x04\x08\0\0\0\0\0\x7f\xff\xff\xff".repeat(2)],
    ["a stream of even number", "\0\0\x01\x01\x05\0\0\0\x02\x82"],
    ["settings that are half", "\0\0\x05\x04\0\0\0\0\0\0\x03\0\0\0"],
    ["a push from a client", "\0\0\x04\x05\x04\0\0\0\x01\0\0\0\x02"],
  ])("a client loses its HTTP/2 connection by %s", async (_, bytes) => {
    await using server = await scene();
    await server.saying(preface + settings + bytes).whenClosed;
    expect(server.turns()).toBe(0);
    await server.expectServes();
  });

  it.each([
    [
      "calls of gRPC",
      { ":method": "POST", ":path": "/lf.a2a.v1.A2AService/SendMessage", "content-type": "application/grpc" },
    ],
    [
      "streams of gRPC",
      { ":method": "POST", ":path": "/lf.a2a.v1.A2AService/SubscribeToTask", "content-type": "application/grpc" },
    ],
    ["requests of HTTP", { ":method": "POST", ":path": "/json-rpc", "content-type": "application/json" }],
  ])("a client loses its HTTP/2 connection when it resets ten thousand %s", async (_, headers) => {
    await using server = await scene();
    const session = await http2Session(server.port);
    session.on("error", () => {});
    const gone = new Promise((resolve) => session.once("close", resolve));
    for (let count = 0; count < 10_000 && !session.destroyed && !session.closed; count++) {
      const stream = session.request(headers);
      stream.on("error", () => {});
      stream.close(constants.NGHTTP2_CANCEL);
      if (count % 50 === 49) await new Promise((resolve) => setImmediate(resolve));
    }
    session.close();
    await gone;
    expect(server.turns()).toBe(0);
    await server.expectServes();
  });
});

it("no bad request is logged as a server fault", () => {
  expect(logs.flat().filter(({ level }) => level === "error")).toEqual([]);
});
