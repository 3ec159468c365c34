import { constants } from "node:http2";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { HttpEndpoint } from "../../../src/binding/http/http.js";
import { nodeListener } from "../../../src/binding/http/node-listener.js";
import { defaultListenerLimits, type RequestListener } from "../../../src/binding/listen/connection.js";
import { createListener, type Listener } from "../../../src/binding/listen/listener.js";
import { getOverHttp1, getOverHttp2, http2Session, wireTo } from "../../support/http-calls.js";

// Callers that ask for much and take nothing of it.

/** More than the buffers of a socket hold. */
const large = Buffer.alloc(8 << 20);

async function* endless() {
  for (;;) yield large;
}

let listener: Listener;
let ended = Promise.withResolvers<void>();
let slow: (() => void)[] = [];

const times = { ...defaultListenerLimits, replyStallMs: 150 };

const endpoint: HttpEndpoint = async (request) => {
  const { path } = request;
  const headers = {};
  if (path === "/whole") return { status: 200, headers, body: large };
  if (path === "/stream") return { status: 200, headers, body: endless() };
  if (path === "/slow")
    return { status: 200, headers, body: await new Promise((resolve) => slow.push(() => resolve("at last"))) };
  return { status: 200, headers, body: "fine" };
};

beforeAll(async () => {
  const answer = nodeListener(endpoint, { times });
  const http: RequestListener = (request, response) => {
    response.on("close", () => ended.resolve());
    answer(request, response);
  };
  listener = await createListener({ host: "127.0.0.1", port: 0, limits: { ...times, keepAliveIdleMs: 60_000 }, http });
});
afterAll(() => listener.close());

it.each(["/whole", "/stream"])("an HTTP/1.1 caller that takes nothing of %s loses its connection", async (path) => {
  ended = Promise.withResolvers();
  const { socket, whenClosed: closed } = wireTo(listener.port);
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
