import { setImmediate } from "node:timers/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createNodeFetch } from "../../../src/binding/fetch/node-fetch.js";
import { createHttpJsonTransport } from "../../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import type { Fetch } from "../../../src/protocol/fetch.js";
import { httpAdapter, httpBindings, rpcAdapter } from "../../support/http-agent.js";
import { itemsOf } from "../../support/items.js";
import { validRequest } from "../../support/valid-request.js";
import { bareServer } from "../bare-server.js";
import { httpPeer } from "../http-peer.js";

const getTask = validRequest("getTask");
const send = validRequest("sendStreamingMessage");
const limits = { replyMaxBytes: 10_000 };

/** Clients of a URL, with their own connections. */
function clientsOf(url: string, fetch: Fetch) {
  const clients = {
    JSONRPC: createJsonRpcTransport({ url, adapter: rpcAdapter, fetch, ...limits }),
    "HTTP+JSON": createHttpJsonTransport({ url, adapter: httpAdapter, fetch, ...limits }),
  };
  return (binding: (typeof httpBindings)[number]) => ({
    unary: () => clients[binding].getTask(getTask, {}),
    stream: () => itemsOf(clients[binding].sendStreamingMessage(send, {})),
  });
}

interface Reply {
  readonly what: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent once. */
  readonly body?: string | Buffer;
  /** Sent repeatedly after the body. */
  readonly endless?: string;
  readonly code: string;
}

const json = { "Content-Type": "application/json" };
const events = { "Content-Type": "text/event-stream" };
const long = "x".repeat(5_000);

/** Sends a reply until the client disconnects. */
async function serve({ status = 200, headers = {}, body = "", endless }: Reply) {
  return httpPeer(async (_, response) => {
    response.writeHead(status, headers);
    if (endless === undefined) response.end(body);
    else response.write(body);
    while (endless !== undefined && !response.destroyed) {
      if (!response.write(endless))
        await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
      await setImmediate();
    }
  });
}

const bomb = Buffer.alloc(50_000_000, " ");
const zipped = { ...json, "Content-Encoding": "gzip" };
const contentTooLarge = "contentTooLarge";
const invalid = "invalidAgentResponse";

const unaryReplies: readonly Reply[] = [
  { what: "a body without an end", headers: json, endless: long, code: contentTooLarge },
  {
    what: "a body that says it is too long",
    headers: { ...json, "Content-Length": "20000" },
    body: " ".repeat(20_000),
    code: contentTooLarge,
  },
  { what: "a little body that unfolds", headers: zipped, body: gzipSync(bomb), code: contentTooLarge },
  {
    what: "one that unfolds otherwise",
    headers: { ...json, "Content-Encoding": "br" },
    body: brotliCompressSync(bomb),
    code: contentTooLarge,
  },
  { what: "an error without an end", status: 500, headers: json, endless: long, code: contentTooLarge },
  { what: "an event stream", headers: events, body: ": hello\n\n", endless: ": ping\n\n", code: invalid },
  { what: "no content", status: 204, code: invalid },
  { what: "an empty body", headers: json, code: invalid },
  { what: "a body that is no gzip", headers: zipped, body: "{}", code: "unavailable" },
];

const streamReplies: readonly Reply[] = [
  { what: "a line without an end", headers: events, body: "data: ", endless: long, code: contentTooLarge },
  { what: "an event without an end", headers: events, endless: `data: ${"x".repeat(50)}\n`, code: contentTooLarge },
  {
    what: "an event of empty lines without an end",
    headers: events,
    endless: "data\n".repeat(1000),
    code: contentTooLarge,
  },
  { what: "an id without an end", headers: events, body: "id: ", endless: long, code: contentTooLarge },
  {
    what: "a little event that unfolds",
    headers: { ...events, "Content-Encoding": "gzip" },
    body: gzipSync(Buffer.concat([Buffer.from("data: "), bomb])),
    code: contentTooLarge,
  },
  { what: "one reply without an end", headers: json, endless: long, code: contentTooLarge },
  { what: "no content", status: 204, code: invalid },
  { what: "an empty body", headers: json, code: invalid },
  { what: "a page", headers: { "Content-Type": "text/html" }, body: "<html>", code: invalid },
  { what: "an event that is no JSON", headers: events, body: "data: <html>\n\n", endless: ": ping\n\n", code: invalid },
];

/** Resolves when a number stops changing. */
async function standsStill(number: () => number): Promise<void> {
  let last = -1;
  const moved = (): number => {
    const before = last;
    last = number();
    return last - before;
  };
  await expect.poll(moved, { interval: 100 }).toBe(0);
}

describe.each(httpBindings)("over %s", (binding) => {
  const kinds = [
    ["unary", unaryReplies],
    ["stream", streamReplies],
  ] as const;
  for (const [kind, replies] of kinds) {
    it.each(replies)(`an answer with $what to a ${kind} call is $code, and frees its socket`, async (reply) => {
      await using peer = await serve(reply);
      const fetch = createNodeFetch();
      const clients = clientsOf(peer.url, fetch);
      for (let count = 0; count < 2; count++) {
        await expect(clients(binding)[kind]()).rejects.toMatchObject({ code: reply.code });
      }
      // A complete response leaves a reusable connection.
      if (reply.endless !== undefined) await expect.poll(peer.open).toBe(0);
      await fetch.close();
      await expect.poll(peer.open).toBe(0);
    });
  }

  it.each([
    ["our own fetch", () => createNodeFetch()],
    ["the fetch of the runtime", () => Object.assign(globalThis.fetch, { close: async () => {} })],
  ])("headers without an end are too large for %s", async (_, make) => {
    const header = `X-Long: ${long}\r\n`;
    await using server = await bareServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const more = (): void => void (socket.writable && socket.write(header, () => more()));
      more();
    });
    const fetch = make();
    const clients = clientsOf(`http://127.0.0.1:${server.port}`, fetch);
    await expect(clients(binding).unary()).rejects.toMatchObject({ code: contentTooLarge });
    await expect(clients(binding).stream()).rejects.toMatchObject({ code: contentTooLarge });
    await expect.poll(server.open).toBe(0);
    await fetch.close();
  });

  it("a reader that stops slows the agent down, and loses nothing", async () => {
    let eventCount = 0;
    const update = { statusUpdate: { taskId: "t", contextId: long, status: { state: "TASK_STATE_WORKING" } } };
    const data = JSON.stringify(binding === "JSONRPC" ? { jsonrpc: "2.0", id: 1, result: update } : update);
    await using peer = await httpPeer((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(`id: ${++eventCount}\ndata: ${data}\n\n`));
      };
      response.writeHead(200, events).on("drain", more);
      more();
    });
    const fetch = createNodeFetch();
    const client = createJsonRpcTransport({ url: peer.url, adapter: rpcAdapter, fetch });
    const other = createHttpJsonTransport({ url: peer.url, adapter: httpAdapter, fetch });
    const items = (binding === "JSONRPC" ? client : other).sendStreamingMessage(send, {});
    const iterator = items[Symbol.asyncIterator]();
    await iterator.next();
    await standsStill(() => eventCount);
    // No more than the socket buffers of both ends hold: a few megabytes.
    expect(eventCount * long.length).toBeLessThan(16_000_000);
    for (let id = 2; id <= 5_000; id++) expect((await iterator.next()).value).toMatchObject({ id: String(id) });
    await iterator.return?.();
    await expect.poll(peer.open).toBe(0);
    await fetch.close();
  });
});
