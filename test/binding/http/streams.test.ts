import { type IncomingMessage, request as nodeRequest } from "node:http";
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Service } from "../../../src/binding/service.js";
import type { IdentifiedCaller } from "../../../src/protocol/context.js";
import { TaskSchema } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { inPlace, serviceOf, statusItem } from "../../support/echo-service.js";
import { fedSubscription } from "../../support/fed-subscription.js";
import { httpAgent, httpBindings, rawCall } from "../../support/http-agent.js";
import { itemsOf } from "../../support/items.js";
import { validRequest } from "../../support/valid-request.js";

const subscribe = validRequest("subscribeToTask");
const rpcBody = JSON.stringify({ jsonrpc: "2.0", id: "s", method: "SubscribeToTask", params: { id: "t" } });

const wires = {
  JSONRPC: { method: "POST", path: "/json-rpc", body: rpcBody },
  "HTTP+JSON": { method: "GET", path: "/http-json/tasks/t:subscribe", body: "" },
} as const;

/** Returns the raw response stream of a subscription. */
function openStream(url: string, binding: keyof typeof wires, headers = {}): Promise<IncomingMessage> {
  const { method, path, body } = wires[binding];
  const options = { method, headers: { "Content-Type": "application/json", ...headers }, agent: false };
  return new Promise((resolve, reject) => {
    nodeRequest(url + path, options, resolve)
      .on("error", reject)
      .end(body);
  });
}

describe.each(httpBindings)("a stream over %s", (binding) => {
  // Requirements: V03-SSE-9
  it("an event stream is written line by line in the form that every known reader accepts", async () => {
    const stream = async function* (): AsyncGenerator<StreamItem> {
      yield statusItem(1);
      yield { response: statusItem(2).response };
    };
    await using served = await httpAgent(serviceOf({ subscribeToTask: stream }));
    const { method, path, body } = wires[binding];
    const headers = { "Content-Type": "application/json", "A2A-Extensions": "urn:known" };
    const reply = await rawCall(served.url + path, { method, headers, body });
    expect(reply.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
      "a2a-extensions": "urn:known",
    });
    const event = (n: number): string => {
      const update = `{"statusUpdate":{"taskId":"t","contextId":"c${n}","status":{"state":"TASK_STATE_WORKING"}}}`;
      return binding === "HTTP+JSON" ? update : `{"jsonrpc":"2.0","id":"s","result":${update}}`;
    };
    expect(reply.text).toBe(`id: 1\ndata: ${event(1)}\n\ndata: ${event(2)}\n\n`);
  });

  it("an event stream sends comments while it has no events", async () => {
    const source = fedSubscription();
    const limits = { contentMaxBytes: 1e6, jsonBodyMaxBytes: 1e6, jsonMaxValues: 250_000, keepAliveMs: 20 };
    await using served = await httpAgent(serviceOf(source, { limits }));
    // Headers are sent even if no event comes.
    const response = await openStream(served.url, binding);
    expect(response.statusCode).toBe(200);
    let text = "";
    response.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    await expect.poll(() => text).toMatch(/^(: keep-alive\n){3}/);
    source.push(statusItem(1));
    await expect.poll(() => text).toMatch(/\nid: 1\ndata: \{.*\}\n\n(: keep-alive\n){2}/);
    response.destroy();
    await source.returned;
  });

  it("an event stream aborts its operation when the peer disconnects, before or after its first event", async () => {
    for (const before of [true, false]) {
      const source = fedSubscription();
      const counts: string[] = [];
      const enter: Service["enter"] = ({ streams }) => {
        counts.push(`in ${streams}`);
        return inPlace({ leave: () => counts.push(`out ${streams}`) });
      };
      await using served = await httpAgent(serviceOf(source, { enter }));
      const { method, path, body } = wires[binding];
      const headers = { "Content-Type": "application/json" };
      const request = nodeRequest(served.url + path, { method, headers, agent: false }).on("error", () => {});
      request.end(body);
      if (!before) {
        source.push(statusItem(1));
        await new Promise((resolve) => request.once("response", (response) => response.once("data", resolve)));
      }
      await expect.poll(() => counts).toContain("in true");
      request.destroy();
      await source.left;
      await source.returned;
      await expect.poll(() => new Set(counts)).toEqual(new Set(["in false", "in true", "out false", "out true"]));
      expect(counts).toHaveLength(4);
    }
  });

  it("an event stream aborts its operation when the peer disconnected before the start", async () => {
    const admitted = Promise.withResolvers<void>();
    const start = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    let inside = 0;
    const enter: Service["enter"] = () => {
      inside += 1;
      return inPlace({
        leave: () => {
          inside -= 1;
          left.resolve();
        },
      });
    };
    const authenticate = async (): Promise<IdentifiedCaller> => {
      start.resolve();
      await admitted.promise;
      return { principal: { owner: "somebody" } };
    };
    const source = fedSubscription();
    await using served = await httpAgent(serviceOf(source, { authenticate, enter }));
    const gone = new Promise((resolve) => served.server.once("connection", (socket) => socket.once("close", resolve)));
    const { method, path, body } = wires[binding];
    const headers = { "Content-Type": "application/json" };
    const request = nodeRequest(served.url + path, { method, headers, agent: false }).on("error", () => {});
    request.end(body);
    await start.promise;
    request.destroy();
    await gone;
    admitted.resolve();
    await left.promise;
    await expect.poll(() => inside).toBe(0);
    // The body of an aborted request is not read. HTTP+JSON has no body here, so it calls the operation and aborts it
    // at once.
    if (binding === "HTTP+JSON") await source.returned;
    expect(served.faults).toEqual([]);
  });

  it("an event stream can be left by its client at any time, which aborts the operation", async () => {
    const source = fedSubscription();
    await using served = await httpAgent(serviceOf(source));
    const iterator = served.clients[binding].subscribeToTask(subscribe, {})[Symbol.asyncIterator]();
    source.push(statusItem(1));
    expect(await iterator.next()).toEqual({ done: false, value: statusItem(1) });
    const next = iterator.next();
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await next).toEqual({ done: true, value: undefined });
    await source.returned;
  });

  it("an event stream stops reading its own subscription when a peer does not read, and no other", async () => {
    const slow = fedSubscription();
    const quick = fedSubscription();
    let calls = 0;
    const subscribeToTask = (request: unknown, context: { readonly signal: AbortSignal }): AsyncIterable<StreamItem> =>
      (++calls === 1 ? slow : quick).subscribeToTask(request, context);
    await using served = await httpAgent(serviceOf({ subscribeToTask }));
    const count = 4_000;
    const big = Array.from({ length: count }, (_, n) => wide(n));
    slow.push(...big);
    const stuck = await openStream(served.url, binding);
    stuck.pause();
    quick.push(...big);
    const other = await openStream(served.url, binding);
    other.resume();
    await expect.poll(() => quick.pulled(), { timeout: 10_000 }).toBe(count);
    expect(slow.pulled()).toBeLessThan(count);
    // Held-back events arrive complete and in order once the peer reads.
    let text = "";
    stuck.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
    });
    stuck.resume();
    await expect.poll(() => text.includes(`\nid: ${count - 1}\n`), { timeout: 10_000 }).toBe(true);
    expect([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))).toEqual(big.map((_, n) => n));
    stuck.destroy();
    other.destroy();
    await Promise.all([slow.returned, quick.returned]);
  });
});

const width = 5_000;

function wide(number: number): StreamItem {
  const item = statusItem(number);
  const { payload } = item.response;
  if (payload.case === "statusUpdate") payload.value.contextId = "x".repeat(width);
  return item;
}

it("an event stream joins the events of one turn of the event loop into one write", async () => {
  const source = fedSubscription();
  await using served = await httpAgent(serviceOf(source));
  source.push(...Array.from({ length: 20 }, (_, n) => statusItem(n)));
  const response = await openStream(served.url, "HTTP+JSON");
  const pieces: Buffer[] = [];
  response.on("data", (piece: Buffer) => pieces.push(piece));
  await expect.poll(() => Buffer.concat(pieces).toString()).toContain("id: 19\n");
  // The first event opens the stream; the others arrive together.
  expect(pieces.length).toBeLessThanOrEqual(2);
  response.destroy();
});

it("an endless stream leaves other callers their turn", async () => {
  const endless = async function* (): AsyncGenerator<StreamItem> {
    for (let number = 0; ; number++) yield statusItem(number);
  };
  await using served = await httpAgent(
    serviceOf({ subscribeToTask: endless, getTask: async ({ id }) => create(TaskSchema, { id }) }),
  );
  const response = await openStream(served.url, "JSONRPC");
  response.resume();
  const { status } = await rawCall(`${served.url}/http-json/tasks/t`, { method: "GET" });
  expect(status).toBe(200);
  response.destroy();
});

it("a subscription that ends at once is an empty stream", async () => {
  await using served = await httpAgent(serviceOf({ async *subscribeToTask() {} }));
  for (const binding of httpBindings) {
    expect(await itemsOf(served.clients[binding].subscribeToTask(subscribe, {}))).toEqual([]);
  }
});
