import { constants } from "node:http2";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createListener, type Listener } from "../../../src/binding/listen/listener.js";
import { getOverHttp1, getOverHttp2, http2Session, wireTo } from "../../support/http-calls.js";

// Callers that ask for much and take nothing of it.

/** More than the buffers of a socket hold. */
const large = Buffer.alloc(8 << 20);

function* endless() {
  for (;;) yield large;
}

let listener: Listener;
let ended = Promise.withResolvers<void>();
let slow: (() => void)[] = [];

beforeAll(async () => {
  listener = await createListener({
    host: "127.0.0.1",
    port: 0,
    limits: { replyStallMs: 150, keepAliveIdleMs: 60_000 },
    http: (request, response) => {
      response.on("close", () => ended.resolve());
      if (request.url === "/whole") response.end(large);
      else if (request.url === "/stream") Readable.from(endless()).pipe(response);
      else if (request.url === "/slow") slow.push(() => response.end("at last"));
      else response.end("fine");
    },
  });
});
afterAll(() => listener.close());

it.each(["/whole", "/stream"])("an HTTP/1.1 caller that takes nothing of %s loses its connection", async (path) => {
  ended = Promise.withResolvers();
  const { socket, closed } = wireTo(listener.port);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await ended.promise;
  socket.resume();
  expect((await closed).length).toBeLessThan(large.length);
});

it.each(["/whole", "/stream"])("an HTTP/2 caller that takes nothing of %s loses that stream alone", async (path) => {
  const session = await http2Session(listener.port);
  const stream = session.request({ ":path": path });
  stream.on("error", () => {});
  stream.pause();
  await new Promise((resolve) => stream.once("close", resolve));
  expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
  expect(await getOverHttp2(session, "/")).toMatchObject({ status: 200, body: "fine" });
  session.destroy();
});

it("a reply that takes long to begin is waited for", async () => {
  const session = await http2Session(listener.port);
  for (const get of [() => getOverHttp1(listener.port, "/slow"), () => getOverHttp2(session, "/slow")]) {
    slow = [];
    const answer = get();
    const stalled = wireTo(listener.port);
    stalled.socket.pause();
    stalled.socket.write("GET /whole HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await expect.poll(() => slow.length).toBe(1);
    ended = Promise.withResolvers();
    // The other caller was asked later and has been given up meanwhile.
    await ended.promise;
    slow[0]?.();
    expect(await answer).toMatchObject({ status: 200, body: "at last" });
    stalled.socket.destroy();
  }
  session.destroy();
});
