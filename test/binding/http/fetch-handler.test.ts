import { describe, expect, it } from "vitest";
import { fetchHandler } from "../../../src/binding/http/fetch-handler.js";
import { createHttpJsonTransport } from "../../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import { defaultListenerLimits } from "../../../src/binding/listen/connection.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { echo, serviceOf, statusItem } from "../../support/echo-service.js";
import { endpointOf, httpAdapter, rpcAdapter } from "../../support/http-agent.js";
import { itemsOf } from "../../support/items.js";
import { maxBytes, measure } from "../../support/measure.js";
import { validRequest } from "../../support/valid-request.js";

const origin = "https://agent.example";

/** Transports that use the handler itself as `fetch`. */
function inProcess(handle: (request: Request) => Promise<Response>, base = "") {
  const send = (input: string | URL | Request, init?: RequestInit): Promise<Response> =>
    handle(new Request(input, init));
  return [
    createJsonRpcTransport({ url: `${origin}${base}/json-rpc`, adapter: rpcAdapter, fetch: send }),
    createHttpJsonTransport({ url: `${origin}${base}/http-json`, adapter: httpAdapter, fetch: send }),
  ];
}

it("the fetch handler serves calls, streams and errors without Node's HTTP", async () => {
  const service = serviceOf({
    sendMessage: async (request) => echo(request),
    async *subscribeToTask() {
      yield statusItem(1);
      throw new A2AError("taskNotFound", "gone");
    },
  });
  for (const client of inProcess(fetchHandler(endpointOf(service)))) {
    const send = validRequest("sendMessage");
    expect(await client.sendMessage(send, {})).toEqual(echo(send));
    const stream = client.subscribeToTask(validRequest("subscribeToTask"), {})[Symbol.asyncIterator]();
    expect(await stream.next()).toEqual({ done: false, value: statusItem(1) });
    await expect(stream.next()).rejects.toMatchObject({ code: "taskNotFound" });
  }
});

it("the fetch handler cuts off the path that it is mounted at", async () => {
  const handle = fetchHandler(endpointOf(serviceOf({ async *subscribeToTask() {} })), { basePath: "/api/a2a/" });
  for (const client of inProcess(handle, "/api/a2a")) {
    expect(await itemsOf(client.subscribeToTask(validRequest("subscribeToTask"), {}))).toEqual([]);
  }
  expect((await handle(new Request(`${origin}/api/a2ab/json-rpc`))).status).toBe(404);
  expect((await handle(new Request(`${origin}/api/a2a/other`))).status).toBe(404);
});

it("the fetch handler aborts the operation when the reader cancels, and reads no event ahead", async () => {
  const left = Promise.withResolvers<void>();
  let pulled = 0;
  const service = serviceOf({
    async *subscribeToTask() {
      try {
        for (;;) {
          pulled += 1;
          yield statusItem(pulled);
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        left.resolve();
      }
    },
  });
  const response = await fetchHandler(endpointOf(service))(new Request(`${origin}/http-json/tasks/t:subscribe`));
  const reader = response.body?.getReader();
  const first = await reader?.read();
  expect(new TextDecoder().decode(first?.value)).toMatch(/^id: 1\n/);
  const before = pulled;
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(pulled - before).toBeLessThanOrEqual(1);
  await reader?.cancel();
  await left.promise;
});

it("the fetch handler aborts the operation when the request is aborted", async () => {
  const left = Promise.withResolvers<void>();
  const service = serviceOf({
    async *subscribeToTask(_, { signal }) {
      signal.addEventListener("abort", () => left.resolve());
      yield statusItem(1);
    },
  });
  const controller = new AbortController();
  const request = new Request(`${origin}/http-json/tasks/t:subscribe`, { signal: controller.signal });
  await fetchHandler(endpointOf(service))(request);
  controller.abort();
  await left.promise;
});

describe("a body", () => {
  const handle = fetchHandler(measure, { times: { ...defaultListenerLimits, bodyTimeoutMs: 20 } });
  const post = (body: string | ReadableStream, headers = {}): Promise<Response> =>
    handle(new Request(origin, { method: "POST", body, headers, duplex: "half" }));
  const pieces = (count: number, size: number): ReadableStream =>
    ReadableStream.from(Array.from({ length: count }, () => new Uint8Array(size)));

  it.each([
    { what: "whole", body: () => "abc", status: 200, text: "3" },
    { what: "in pieces", body: () => pieces(3, 10), status: 200, text: "30" },
    { what: "over the limit", body: () => "x".repeat(maxBytes + 1), status: 413, text: "contentTooLarge" },
    { what: "over the limit in pieces", body: () => pieces(100, 10_000), status: 413, text: "contentTooLarge" },
    { what: "that never ends", body: () => new ReadableStream(), status: 400, text: "requestTimeout" },
    {
      what: "that is cut off",
      body: () => new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) }),
      status: 400,
      text: "invalidRequest",
    },
  ])("the fetch handler answers a body ($what) with $text", async ({ body, status, text }) => {
    const response = await post(body());
    expect([response.status, await response.text()]).toEqual([status, text]);
  });

  it("a body that declares more than the limit is not read by the fetch handler", async () => {
    const response = await post(new ReadableStream(), { "Content-Length": String(maxBytes + 1) });
    expect(response.status).toBe(413);
  });
});

it("the fetch handler passes on the facts of the request", async () => {
  const handle = fetchHandler(
    (request) => ({
      status: 200,
      headers: { "X-Seen": "yes" },
      body: JSON.stringify([
        request.path,
        request.query,
        request.header("host"),
        request.secure,
        request.remoteAddress,
      ]),
    }),
    { remoteAddress: () => "192.0.2.1" },
  );
  const response = await handle(new Request(`${origin}:8443/a%2Fb?c=d`));
  expect(response.headers.get("x-seen")).toBe("yes");
  expect(await response.json()).toEqual(["/a%2Fb", "c=d", "agent.example:8443", true, "192.0.2.1"]);
});
