import { connect as http2Connect } from "node:http2";
import { request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { connect as tlsConnect } from "node:tls";
import { expect, it } from "vitest";
import type { ListenerLimits, RequestListener } from "../../../src/binding/listen/connection.js";
import { createListener, type ListenerOptions } from "../../../src/binding/listen/listener.js";
import { getOverHttp1, getOverHttp2, http2Session, wireTo } from "../../support/http-calls.js";
import { localTls } from "../../support/tls.js";

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const http: RequestListener = (request, response) => {
  response.end(`${request.httpVersion} ${request.url}`);
};

async function listen(limits: Partial<ListenerLimits> = {}, more: Partial<ListenerOptions> = {}) {
  const listener = await createListener({ host: "127.0.0.1", port: 0, http, limits, ...more });
  return { ...listener, [Symbol.asyncDispose]: () => listener.close() };
}

it("the listener serves HTTP/1.1 and HTTP/2 on one port", async () => {
  await using listener = await listen();
  expect(listener.address).toBe("127.0.0.1");
  expect(await getOverHttp1(listener.port, "/a")).toMatchObject({ status: 200, body: "1.1 /a" });
  const session = await http2Session(listener.port);
  expect(await getOverHttp2(session, "/b")).toMatchObject({ status: 200, body: "2.0 /b" });
  session.close();
});

it("the listener reports that a port is taken", async () => {
  await using first = await listen();
  await expect(listen({}, { port: first.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});

it.each(["one byte at a time", "in two halves"])(
  "the listener detects a protocol whose bytes arrive %s",
  async (how) => {
    await using listener = await listen();
    const pieces = (text: string): string[] =>
      how === "in two halves" ? [text.slice(0, 9), text.slice(9)] : [...text];
    const request = "GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const http1 = wireTo(listener.port);
    for (const piece of pieces(request)) await new Promise((resolve) => http1.socket.write(piece, resolve));
    expect(await http1.whenClosed).toMatch(/^HTTP\/1\.1 200[\s\S]*1\.1 \/slow$/);
    const http2 = wireTo(listener.port);
    for (const piece of pieces(preface)) await new Promise((resolve) => http2.socket.write(piece, resolve));
    const settings = await new Promise<string>((resolve) => http2.socket.once("data", resolve));
    expect(settings.charCodeAt(3)).toBe(4);
    http2.socket.destroy();
  },
);

it("the listener still answers an HTTP/1.1 client that has ended its side", async () => {
  await using listener = await listen();
  const wire = wireTo(listener.port);
  wire.socket.end("GET /half HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(await wire.whenClosed).toMatch(/1\.1 \/half$/);
});

it("the listener still answers an HTTP/1.1 client over TLS that has ended its side", async () => {
  await using listener = await listen({}, { tls: localTls });
  const client = tlsConnect({ port: listener.port, host: "localhost", ca: localTls.cert });
  client.end("GET /half HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(await text(client)).toMatch(/1\.1 \/half$/);
});

it("the listener closes an HTTP/2 connection whose client has ended", async () => {
  await using listener = await listen();
  const wire = wireTo(listener.port);
  wire.socket.end(`${preface}\0\0\0\x04\0\0\0\0\0`);
  await wire.whenClosed;
});

// Requirements: V1-SEC-2
it("the listener prefers HTTP/2 in TLS and serves HTTP/1.1 to clients that request it or nothing", async () => {
  await using listener = await listen({}, { tls: localTls });
  const url = `https://localhost:${listener.port}`;
  const session = http2Connect(url, { ca: localTls.cert });
  expect(await getOverHttp2(session, "/tls")).toMatchObject({ body: "2.0 /tls" });
  expect(session.alpnProtocol).toBe("h2");
  session.close();
  const status = await new Promise((resolve, reject) => {
    httpsRequest(url, { ca: localTls.cert, agent: false }, (response) => {
      response.resume();
      resolve(`${response.httpVersion} ${response.statusCode}`);
    })
      .on("error", reject)
      .end();
  });
  expect(status).toBe("1.1 200");
  const plain = tlsConnect({ port: listener.port, host: "localhost", ca: localTls.cert });
  plain.write("GET /plain HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const answer = await new Promise<string>((resolve) => plain.once("data", (bytes) => resolve(String(bytes))));
  expect(answer).toMatch(/^HTTP\/1\.1 200/);
  plain.destroy();
});

// Requirements: V1-SEC-5
it.each(["TLSv1", "TLSv1.1"] as const)("the listener refuses %s", async (version) => {
  await using listener = await listen({}, { tls: localTls });
  const failed = new Promise((resolve) => {
    tlsConnect({
      port: listener.port,
      host: "localhost",
      ca: localTls.cert,
      minVersion: version,
      maxVersion: version,
      ciphers: "ALL:@SECLEVEL=0",
    }).on("error", resolve);
  });
  expect(await failed).toMatchObject({ code: expect.stringContaining("VERSION") });
});

it("the listener refuses HTTP on a port that is not for it", async () => {
  const listener = await createListener({ host: "127.0.0.1", port: 0 });
  expect((await getOverHttp1(listener.port, "/")).status).toBe(505);
  await listener.close();
});
