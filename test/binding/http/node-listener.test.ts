import { createServer, request as nodeRequest } from "node:http";
import { describe, expect, it } from "vitest";
import type { HttpEndpoint } from "../../../src/binding/http/http.js";
import { nodeListener } from "../../../src/binding/http/node-listener.js";
import { echo, serviceOf } from "../../support/echo-service.js";
import { bareSocket, httpAgent, postJson, rawCall, serveEndpoint, serveHttp } from "../../support/http-agent.js";

describe("a reply", () => {
  it("a reply that an endpoint cannot give is a bare 500", async () => {
    const faults: unknown[] = [];
    const broken: HttpEndpoint = ({ path }) => {
      if (path === "/throws") throw new Error("secret");
      return { status: 200, headers: { "X-Bad": "a\r\nb" }, body: "x" };
    };
    await using served = await serveEndpoint(broken, { onError: (fault) => faults.push(fault) });
    for (const path of ["/throws", "/header"]) {
      expect(await rawCall(served.url + path, {})).toMatchObject({ status: 500, text: "internal error\n" });
    }
    expect(faults).toHaveLength(2);
  });

  it("a reply for an unknown path is 404, or passed to the next handler", async () => {
    const endpoint: HttpEndpoint = () => undefined;
    await using served = await serveEndpoint(endpoint);
    expect((await rawCall(served.url, {})).status).toBe(404);
    const listener = nodeListener(endpoint);
    await using chained = await serveHttp(createServer((req, res) => listener(req, res, () => res.end("next"))));
    expect((await rawCall(chained.url, {})).text).toBe("next");
  });

  it.each([
    { reply: { status: 204, headers: {}, body: undefined }, length: undefined },
    { reply: { status: 304, headers: { ETag: '"x"' }, body: undefined }, length: undefined },
    { reply: { status: 200, headers: {}, body: undefined }, length: "0" },
    { reply: { status: 200, headers: {}, body: "é" }, length: "2" },
    { reply: { status: 200, headers: {}, body: new Uint8Array([104, 105]) }, length: "2" },
  ])("the listener gives the reply $reply the length $length", async ({ reply, length }) => {
    await using served = await serveEndpoint(() => reply);
    const { status, headers } = await rawCall(served.url, { method: "GET" });
    expect({ status, length: headers["content-length"] }).toEqual({ status: reply.status, length });
  });

  it("a reply is cut off when its body fails, so that no reader takes it for complete", async () => {
    await using served = await serveEndpoint(() => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield "half";
        throw new Error("gone");
      })(),
    }));
    await expect(rawCall(served.url, { method: "GET" })).rejects.toThrow();
  });
});

it.each([
  { target: "/a/b?c=d?e", path: "/a/b", query: "c=d?e" },
  { target: "/a%2Fb", path: "/a%2Fb", query: "" },
  { target: "http://x.example:80/a?b", path: "/a", query: "b" },
  { target: "http://x.example", path: "", query: "" },
  { target: "*", path: "*", query: "" },
])("the listener takes the request target $target apart", async ({ target, path, query }) => {
  await using served = await serveEndpoint((request) => ({
    status: 200,
    headers: {},
    body: JSON.stringify([request.path, request.query, request.header("host"), request.secure, request.remoteAddress]),
  }));
  const socket = await bareSocket(served.port);
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x.example\r\n\r\n`);
  const wanted = JSON.stringify([path, query, "x.example", false, "127.0.0.1"]);
  await expect.poll(socket.receivedText).toContain(`\r\n\r\n${wanted}`);
  socket.destroy();
});

it("the listener answers the next good request after each bad one", async () => {
  await using served = await httpAgent(serviceOf({ sendMessage: async (request) => echo(request) }));
  const bad = [
    "GARBAGE\r\n\r\n",
    "POST /json-rpc HTTP/1.1\r\n\r\n",
    "GET /http-json/%",
    "POST / HTTP/9.9\r\nHost: x\r\n\r\n",
  ];
  for (const text of bad) {
    const socket = await bareSocket(served.port);
    socket.end(text);
    const body = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } };
    expect((await postJson(`${served.url}/http-json/message:send`, body)).status).toBe(200);
    socket.destroy();
  }
  const aborted = nodeRequest(`${served.url}/json-rpc`, { method: "POST", headers: { "Content-Length": "10" } });
  aborted.on("error", () => {}).flushHeaders();
  await new Promise((resolve) => aborted.once("socket", (socket) => socket.once("connect", resolve)));
  aborted.destroy();
  expect(served.faults).toEqual([]);
});
