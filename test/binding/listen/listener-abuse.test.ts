import { once } from "node:events";
import { Agent } from "node:http";
import { constants } from "node:http2";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ListenerLimits } from "../../../src/binding/listen/connection.js";
import { createListener, type Listener } from "../../../src/binding/listen/listener.js";
import { getOverHttp1, getOverHttp2, http2Session, wireTo } from "../../support/http-calls.js";
import { localTls } from "../../support/tls.js";

const limits: Partial<ListenerLimits> = {
  headerTimeoutMs: 200,
  bodyTimeoutMs: 200,
  keepAliveIdleMs: 100,
  http2IdleMs: 300,
};
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const settings = "\0\0\0\x04\0\0\0\0\0";

let listener: Listener;

beforeAll(async () => {
  listener = await createListener({
    host: "127.0.0.1",
    port: 0,
    limits,
    http: (request, response) => {
      request.resume().on("end", () => response.end("fine"));
    },
  });
});

afterAll(() => listener.close());

const stillServes = async (): Promise<void> => {
  expect(await getOverHttp1(listener.port, "/")).toMatchObject({ status: 200 });
};

it.each([
  ["nothing", ""],
  ["half of the HTTP/2 preface", preface.slice(0, 12)],
  ["the preface without settings", preface],
  ["half of a request's headers", "GET / HTTP/1.1\r\nHost: a\r\nX-Slow"],
  ["half of a body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345"],
])("the listener closes a connection that sends %s", async (_, bytes) => {
  const wire = wireTo(listener.port);
  wire.socket.write(bytes);
  await wire.whenClosed;
  await stillServes();
});

it("the listener closes a connection that ends before it has sent anything", async () => {
  const wire = wireTo(listener.port);
  wire.socket.end();
  expect(await wire.whenClosed).toBe("");
});

it.each([
  ["bytes of no protocol", "\x00\x01\x02\x03\r\n\r\n"],
  ["a TLS hello", "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"],
  ["a preface that goes wrong", `${preface.slice(0, 20)}XXXX\r\n\r\n`],
])("the listener answers %s with 400 and closes", async (_, bytes) => {
  const wire = wireTo(listener.port);
  wire.socket.write(Buffer.from(bytes, "latin1"));
  expect(await wire.whenClosed).toMatch(/^HTTP\/1\.1 400/);
  await stillServes();
});

it.each([
  ["garbage", "\xff".repeat(100)],
  ["data on a stream that was never opened", `${settings}\0\0\x01\0\0\0\0\0\x01x`],
  ["a frame that is too long", `${settings}\xff\xff\xff\0\0\0\0\0\x01`],
])("the listener closes an HTTP/2 connection that sends %s after the preface", async (_, bytes) => {
  const wire = wireTo(listener.port);
  wire.socket.write(Buffer.from(preface + bytes, "latin1"));
  await wire.whenClosed;
  await stillServes();
});

it("the listener cuts off a client that resets ten thousand streams, and serves the others", async () => {
  const session = await http2Session(listener.port);
  const gone = new Promise<number>((resolve) => session.on("goaway", resolve));
  session.on("error", () => {});
  for (let count = 0; count < 10_000 && !session.destroyed && !session.closed; count++) {
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {});
    stream.close(constants.NGHTTP2_CANCEL);
    if (count % 50 === 49) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await gone).not.toBe(constants.NGHTTP2_NO_ERROR);
  session.destroy();
  await stillServes();
});

it("the listener refuses headers over 16 KiB", async () => {
  const wire = wireTo(listener.port);
  wire.socket.write(`GET / HTTP/1.1\r\nHost: a\r\nX-Long: ${"x".repeat(17_000)}\r\n\r\n`);
  expect(await wire.whenClosed).toMatch(/^HTTP\/1\.1 431/);
  const session = await http2Session(listener.port);
  expect(session.remoteSettings).toMatchObject({ maxHeaderListSize: 16_384, maxConcurrentStreams: 100 });
  const refused = getOverHttp2(session, "/", { "x-long": "x".repeat(17_000) });
  await expect(refused).rejects.toMatchObject({ code: "ERR_HTTP2_STREAM_ERROR" });
  session.destroy();
});

it("the listener ends an HTTP/1.1 connection that idles", async () => {
  const agent = new Agent({ keepAlive: true });
  const closed = new Promise((resolve) => {
    agent.on("free", (socket) => socket.once("close", resolve));
  });
  await getOverHttp1(listener.port, "/", agent);
  await closed;
  agent.destroy();
});

it("the listener sends GOAWAY to a silent HTTP/2 connection", async () => {
  const session = await http2Session(listener.port);
  const code = await new Promise<number>((resolve) => session.on("goaway", resolve));
  expect(code).toBe(constants.NGHTTP2_NO_ERROR);
});

it("the listener closes a TLS connection that does not finish its handshake", async () => {
  const secure = await createListener({ host: "127.0.0.1", port: 0, limits, tls: localTls });
  const wire = wireTo(secure.port);
  await wire.whenClosed;
  await secure.close();
});

it("the listener keeps no connection of a TLS client that leaves during its handshake", async () => {
  const patient = { headerTimeoutMs: 60_000 };
  const secure = await createListener({ host: "127.0.0.1", port: 0, limits: patient, tls: localTls });
  // Node knows the certificate before it has sent the end of its handshake.
  const client = connect({ port: secure.port, host: "localhost", ca: localTls.cert });
  client.once("secureConnect", () => client.destroy());
  await once(client, "close");
  const begin = performance.now();
  await secure.drain(60_000);
  expect(performance.now() - begin).toBeLessThan(30_000);
});
