import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { nodeListener } from "../../../src/binding/http/node-listener.js";
import { gunzip } from "../../../src/binding/http/request-body.js";
import { defaultListenerLimits } from "../../../src/binding/listen/connection.js";
import { bareSocket, rawCall, serveEndpoint, serveHttp } from "../../support/http-agent.js";
import { maxBytes, measure } from "../../support/measure.js";

describe("a body", () => {
  it.each([
    { bytes: 0, status: 200, text: "0" },
    { bytes: 1, status: 200, text: "1" },
    { bytes: maxBytes, status: 200, text: "100000" },
    { bytes: maxBytes + 1, status: 413, text: "contentTooLarge" },
    { bytes: 20_000_000, status: 413, text: "contentTooLarge" },
  ])("a body of $bytes bytes is answered with $status, with a length or without", async ({ bytes, status, text }) => {
    await using served = await serveEndpoint(measure);
    const body = new Uint8Array(bytes);
    expect(await rawCall(served.url, { headers: { "Content-Length": String(bytes) }, body })).toMatchObject({
      status,
      text,
    });
    const chunked = await rawCall(served.url, { headers: { "Transfer-Encoding": "chunked" }, body });
    expect(chunked).toMatchObject({ status, text });
    expect(chunked.headers.connection).toBe("close");
  });

  it("a body over the limit is refused before it is sent, and by fetch's client too", async () => {
    await using served = await serveEndpoint(measure);
    const response = await fetch(served.url, { method: "POST", body: new Uint8Array(30_000_000) });
    expect([response.status, await response.text()]).toEqual([413, "contentTooLarge"]);
    const socket = await bareSocket(served.port);
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n");
    await expect.poll(socket.receivedText).toMatch(/^HTTP\/1.1 413 .*\r\nConnection: close\r\n.*contentTooLarge$/s);
    socket.destroy();
  });

  it("a body in many pieces is put together", async () => {
    await using served = await serveEndpoint(measure);
    const socket = await bareSocket(served.port);
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (let piece = 0; piece < 50; piece++) socket.write("2\r\nab\r\n");
    socket.write("0\r\n\r\n");
    await expect.poll(socket.receivedText).toMatch(/\r\n\r\n100$/);
    socket.destroy();
  });

  it("a body that does not arrive is given up in time", async () => {
    await using served = await serveEndpoint(measure, { times: { ...defaultListenerLimits, bodyTimeoutMs: 20 } });
    const socket = await bareSocket(served.port);
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\nhalf");
    await expect.poll(socket.receivedText).toMatch(/requestTimeout$/);
    socket.destroy();
  });

  it("a body that is cut off in the middle fails its own request alone", async () => {
    const failed = Promise.withResolvers<unknown>();
    await using served = await serveEndpoint(async (request) => {
      await request.body(maxBytes, () => {}).catch(failed.resolve);
      return { status: 200, headers: {}, body: "late" };
    });
    const socket = await bareSocket(served.port);
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\nhalf");
    socket.end();
    socket.destroy();
    expect(await failed.promise).toMatchObject({ code: "invalidRequest" });
    expect((await rawCall(served.url, { body: "x" })).text).toBe("late");
    expect(served.faults).toEqual([]);
  });

  it("a body that is never read leaves its connection usable", async () => {
    await using served = await serveEndpoint(() => ({ status: 200, headers: {}, body: "ok" }));
    const socket = await bareSocket(served.port);
    for (let time = 1; time <= 3; time++) {
      socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
      await expect.poll(() => socket.receivedText().split("\r\n\r\nok").length - 1).toBe(time);
    }
    socket.destroy();
  });

  it.each([
    { body: { a: 1 }, size: 7 },
    { body: "text", size: 4 },
    { rawBody: Buffer.from("raw"), size: 3 },
  ])("a body that a body parser has read is used: $size bytes", async ({ size, ...parsed }) => {
    const listener = nodeListener(measure);
    const server = createServer((req, res) => {
      req.resume().on("end", () => listener(Object.assign(req, parsed), res));
    });
    await using served = await serveHttp(server);
    expect((await rawCall(served.url, { body: "something" })).text).toBe(String(size));
  });

  it("a body that earlier middleware consumed is an error that names the remedy", async () => {
    const listener = nodeListener(measure);
    const server = createServer((req, res) => {
      req.resume().on("end", () => listener(req, res));
    });
    await using served = await serveHttp(server);
    expect((await rawCall(served.url, { body: "something" })).text).toContain("mount the agent before the body parser");
  });
});

it("a body that is refused is decompressed no further", async () => {
  const body = gzipSync(Buffer.alloc(10_000_000));
  let pieces = 0;
  const refused = gunzip(body, body.length * 1000, () => {
    pieces += 1;
    throw new Error("refused");
  });
  await expect(refused).rejects.toThrow("refused");
  // Another body of this size takes as long as the rest would.
  await gunzip(body, 10_000_000, () => {});
  expect(pieces).toBe(1);
});
