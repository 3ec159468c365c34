import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { createHttpJsonTransport } from "../../src/binding/http-json/client.js";
import { createJsonRpcTransport } from "../../src/binding/json-rpc/client.js";
import type { CallOptions } from "../../src/protocol/context.js";
import type { Operations } from "../../src/protocol/operations.js";
import { httpAdapter, httpBindings, rpcAdapter, serveHttp } from "../support/http-agent.js";
import { itemsOf } from "../support/items.js";
import { validRequest } from "../support/valid-request.js";

type Clients = { readonly [B in (typeof httpBindings)[number]]: Operations<CallOptions> };

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

const limits = { replyMaxBytes: 10_000 };

/** Clients of an agent with a custom response. */
async function agent(answer: Answer) {
  const calls: string[] = [];
  const server = createServer((req, res) => {
    calls.push(`${req.method} ${req.url}`);
    req.resume().on("end", () => answer(req, res));
  });
  const served = await serveHttp(server);
  const clients = {
    JSONRPC: createJsonRpcTransport({ url: `${served.url}/rpc`, adapter: rpcAdapter, ...limits }),
    "HTTP+JSON": createHttpJsonTransport({ url: `${served.url}/api/`, adapter: httpAdapter, ...limits }),
  };
  return Object.assign(served, { calls, clients });
}

const whole = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return (_, res) => res.writeHead(status, { "Content-Type": "application/json", ...headers }).end(text);
};

const events = (text: string): Answer => whole(200, text, { "Content-Type": "text/event-stream" });

const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } };
const getTask = validRequest("getTask");
const subscribe = { ...validRequest("subscribeToTask"), id: "t", tenant: "" };

describe("an answer over json-rpc", () => {
  it.each([
    { what: "another id", answer: whole(200, { jsonrpc: "2.0", id: "other", result: task }) },
    { what: "no id", answer: whole(200, { result: task }) },
    { what: "error: null beside the result", answer: whole(200, { id: 1, result: task, error: null }) },
    { what: "no content type", answer: whole(200, { id: 1, result: task }, { "Content-Type": "" }) },
    { what: "an unknown member", answer: whole(200, { id: 1, result: { ...task, later: { a: 1 } } }) },
    { what: "status 201", answer: whole(201, { id: 1, result: task }) },
  ])("an answer over JSON-RPC with $what is read", async ({ answer }) => {
    await using served = await agent(answer);
    expect(await served.clients["JSONRPC"].getTask(getTask, {})).toMatchObject({ id: "t" });
  });

  const error = { code: -32001, message: "gone" };
  it.each([
    { what: "an error with status 200", answer: whole(200, { id: 1, error }), code: "taskNotFound" },
    { what: "an error with status 500", answer: whole(500, { id: 1, error }), code: "taskNotFound" },
    {
      what: "an error with text as data",
      answer: whole(400, { error: { ...error, data: "x" } }),
      code: "taskNotFound",
    },
    { what: "status 404 and a page", answer: whole(404, "<html>"), code: "methodNotFound" },
    { what: "status 405", answer: whole(405, ""), code: "methodNotAllowed" },
    { what: "status 503", answer: whole(503, "busy", { "Retry-After": "3" }), code: "unavailable", retryAfterMs: 3000 },
    { what: "status 429", answer: whole(429, {}, { "Retry-After": "0" }), code: "resourceExhausted", retryAfterMs: 0 },
    {
      what: "status 401",
      answer: whole(401, "", { "WWW-Authenticate": "Basic" }),
      code: "unauthenticated",
      challenge: "Basic",
    },
    { what: "status 418", answer: whole(418, ""), code: "invalidAgentResponse" },
    { what: "a page with status 200", answer: whole(200, "<html>"), code: "invalidAgentResponse" },
    { what: "nothing with status 200", answer: whole(200, ""), code: "invalidAgentResponse" },
    { what: "neither result nor error", answer: whole(200, { jsonrpc: "2.0", id: 1 }), code: "invalidAgentResponse" },
    { what: "a result of another type", answer: whole(200, { id: 1, result: [7] }), code: "invalidAgentResponse" },
    { what: "too much", answer: whole(200, { id: 1, result: "x".repeat(20_000) }), code: "contentTooLarge" },
  ])("an answer over JSON-RPC with $what is $code", async ({ what: _, answer, ...wanted }) => {
    await using served = await agent(answer);
    await expect(served.clients["JSONRPC"].getTask(getTask, {})).rejects.toMatchObject(wanted);
  });
});

describe("an answer over http-json", () => {
  it.each(["", "{}", "null"])("an answer of %j to a delete over HTTP+JSON is a success", async (body) => {
    const remove = validRequest("deleteTaskPushNotificationConfig");
    for (const status of body === "" ? [200, 204] : [200]) {
      await using served = await agent(whole(status, body));
      const empty = await served.clients["HTTP+JSON"].deleteTaskPushNotificationConfig({ ...remove, id: "c" }, {});
      expect(empty).toEqual({ $typeName: "google.protobuf.Empty" });
    }
  });

  it.each([
    { status: 404, body: "<html>", code: "methodNotFound" },
    { status: 404, body: { type: "https://a2a-protocol.org/errors/task-not-found", title: "x" }, code: "taskNotFound" },
    { status: 502, body: "", code: "unavailable" },
    { status: 200, body: "<html>", code: "invalidAgentResponse" },
    { status: 200, body: "", code: "invalidAgentResponse" },
  ])("the answer $status $body over HTTP+JSON is $code", async ({ status, body, code }) => {
    await using served = await agent(whole(status, body));
    await expect(served.clients["HTTP+JSON"].getTask(getTask, {})).rejects.toMatchObject({ code });
  });

  it("an answer over HTTP+JSON is limited even without a declared length", async () => {
    await using served = await agent((_, res) => {
      for (let piece = 0; piece < 20; piece++) res.write(" ".repeat(1_000));
      res.end("{}");
    });
    await expect(served.clients["HTTP+JSON"].getTask(getTask, {})).rejects.toMatchObject({ code: "contentTooLarge" });
  });

  it("a call over HTTP+JSON puts the tenant and the ids into the path", async () => {
    await using served = await agent(whole(200, task));
    await served.clients["HTTP+JSON"].getTask({ ...getTask, historyLength: 2 }, {});
    expect(served.calls).toEqual(["GET /api/n%C3%B8rth%2Fx/tasks/a%2Fb%3Acancel%3F%C3%A9?historyLength=2"]);
  });

  it("a call over HTTP+JSON is not sent without an id", async () => {
    await using served = await agent(whole(200, task));
    const call = served.clients["HTTP+JSON"].getTask({ ...getTask, id: "" }, {});
    await expect(call).rejects.toMatchObject({ code: "invalidParams", violations: [{ field: "id" }] });
    expect(served.calls).toEqual([]);
  });
});

describe("a subscription over http-json", () => {
  const event = events(`data: ${JSON.stringify({ task })}\n\n`);
  const byVerb = (verbs: { readonly [verb: string]: Answer }): Answer => {
    return (req, res) => (verbs[req.method ?? ""] ?? whole(405, ""))(req, res);
  };
  const both = ["GET /api/tasks/t:subscribe", "POST /api/tasks/t:subscribe"];

  const noTask = whole(404, { error: { status: "NOT_FOUND" } });

  it.each([
    ["405", whole(405, "no")],
    ["404", whole(404, "no")],
    ["that there is no such task", noTask],
  ])("a subscription that GET answers with %s is opened by POST, and the next one by POST at once", async (_, get) => {
    await using served = await agent(byVerb({ GET: get, POST: event }));
    const opened = () => itemsOf(served.clients["HTTP+JSON"].subscribeToTask(subscribe, {}));
    expect(await opened()).toHaveLength(1);
    expect(await opened()).toHaveLength(1);
    expect(served.calls).toEqual([...both, both[1]]);
  });

  it.each(["GET", "POST"])(
    "a subscription to a missing task is asked for once where %s has opened one before",
    async (verb) => {
      let isThere = true;
      const answer: Answer = (req, res) => (isThere ? event : noTask)(req, res);
      await using served = await agent(byVerb({ [verb]: answer }));
      const opened = () => itemsOf(served.clients["HTTP+JSON"].subscribeToTask(subscribe, {}));
      await opened();
      isThere = false;
      served.calls.length = 0;
      await expect(opened()).rejects.toMatchObject({ code: "taskNotFound" });
      expect(served.calls).toEqual([`${verb} /api/tasks/t:subscribe`]);
    },
  );

  it.each([
    { get: noTask, post: noTask, code: "taskNotFound", calls: both },
    { get: noTask, post: whole(404, "none"), code: "taskNotFound", calls: both },
    {
      get: noTask,
      post: whole(400, { error: { status: "FAILED_PRECONDITION" } }),
      code: "unsupportedOperation",
      calls: both,
    },
    { get: whole(405, ""), post: noTask, code: "taskNotFound", calls: both },
    { get: whole(404, "none"), post: whole(405, ""), code: "methodNotFound", calls: both },
    { get: whole(400, ""), post: event, code: "invalidParams", calls: both.slice(0, 1) },
  ])("a subscription fails with $code after $calls", async ({ get, post, code, calls }) => {
    await using served = await agent(byVerb({ GET: get, POST: post }));
    const read = itemsOf(served.clients["HTTP+JSON"].subscribeToTask(subscribe, {}));
    await expect(read).rejects.toMatchObject({ code });
    expect(served.calls).toEqual(calls);
  });
});

describe.each(httpBindings)("a stream over %s", (binding) => {
  const wrap = (payload: object): string =>
    JSON.stringify(binding === "JSONRPC" ? { jsonrpc: "2.0", id: 1, result: payload } : payload);
  const one = wrap({ task });
  const folded = one.replace(",", ",\ndata: ");

  const read = async (served: { readonly clients: Clients }) =>
    itemsOf(served.clients[binding].subscribeToTask(subscribe, {}));

  it.each([
    { what: "a name, an id and no space", text: `event: x\nid:7\ndata:${one}\n\n`, ids: ["7"] },
    { what: "line ends of CR LF", text: `id: 7\r\ndata: ${one}\r\n\r\n`, ids: ["7"] },
    { what: "comments and retry lines", text: `: hi\n\nretry: 5\n\ndata: ${one}\n\n: bye\n\n`, ids: [undefined] },
    {
      what: "pings",
      text: `event: ping\ndata: {"at":1}\n\nevent: ping\ndata: now\n\ndata: ${one}\n\n`,
      ids: [undefined],
    },
    { what: "empty data", text: `data:\n\nevent: ping\ndata:\n\ndata: ${one}\n\ndata:`, ids: [undefined] },
    { what: "[DONE] at its end", text: `data: ${one}\n\ndata: [DONE]\n\n`, ids: [undefined] },
    { what: "[DONE] without a blank line", text: `data: ${one}\n\ndata: [DONE]`, ids: [undefined] },
    { what: "folded JSON", text: `data: ${folded}\n\n`, ids: [undefined] },
    { what: "a last event without its blank line", text: `data: ${one}\n\nid: 8\ndata: ${one}`, ids: [undefined, "8"] },
    { what: "nothing at all", text: "", ids: [] },
    {
      what: "an event of a kind of tomorrow",
      text: `data: ${wrap({ progress: { at: 1 } })}\n\ndata: ${one}\n\n`,
      ids: [undefined],
    },
  ])("a stream with $what is read", async ({ text, ids }) => {
    await using served = await agent(events(text));
    expect((await read(served)).map(({ id }) => id)).toEqual(ids);
  });

  it("a stream that is one JSON answer is read as one event", async () => {
    await using served = await agent(whole(200, one));
    expect(await read(served)).toMatchObject([{ response: { payload: { case: "task", value: { id: "t" } } } }]);
  });

  it.each([
    { what: "an event that is no JSON", text: "data: <html>\n\n", code: "invalidAgentResponse" },
    { what: "an event over the limit", text: `data: ${"x".repeat(20_000)}\n\n`, code: "contentTooLarge" },
  ])("a stream with $what fails with $code", async ({ text, code }) => {
    await using served = await agent(events(text));
    await expect(read(served)).rejects.toMatchObject({ code });
  });

  it("a stream that is cut off is reported as broken after its last event", async () => {
    await using served = await agent((_, res) => {
      res.writeHead(200, { "Content-Type": "text/event-stream" });
      res.write(`data: ${one}\n\ndata: {"half`, () => res.destroy());
    });
    const got: unknown[] = [];
    const reading = (async () => {
      for await (const item of served.clients[binding].subscribeToTask(subscribe, {})) got.push(item);
    })();
    await expect(reading).rejects.toMatchObject({ code: "unavailable" });
    expect(got).toHaveLength(1);
  });
});

it("a stream of JSON-RPC whose events have no envelope fails with the members that came", async () => {
  await using served = await agent(events(`data: ${JSON.stringify({ task })}\n\n`));
  const items = itemsOf(served.clients["JSONRPC"].subscribeToTask(subscribe, {}));
  await expect(items).rejects.toMatchObject({
    code: "invalidAgentResponse",
    message: "an event of the stream is not a JSON-RPC response: it has no result but task",
  });
});
