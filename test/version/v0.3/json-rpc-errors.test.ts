import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { json } from "../../support/raw-http.js";
import { messageOf, startRpc, taskOf } from "./rpc-server.js";

describe("errors", () => {
  const error = (code: number, message: JsonValue = expect.any(String)): JsonValue => ({ code, message });

  // Requirements: V03-RPC-7
  it.each([
    ["{", -32700, null],
    ['"x"', -32600, null],
    ["[]", -32600, null],
    ["{}", -32600, null],
    ['{"jsonrpc":"2.0","id":7}', -32600, 7],
    ['{"jsonrpc":"2.0","id":7,"method":8}', -32600, 7],
    ['{"jsonrpc":"1.0","id":7,"method":"tasks/get"}', -32600, 7],
    ['{"jsonrpc":"2.0","id":"a","method":"tasks/list"}', -32601, "a"],
    ['{"jsonrpc":"2.0","id":"a","method":"tasks/get"}', -32602, "a"],
    ['{"jsonrpc":"2.0","id":"a","method":"message/send","params":null}', -32602, "a"],
  ])("the body %s is answered with %i over JSON-RPC of 0.3, without data", async (body, code, id) => {
    await using rpc = await startRpc();
    const answer = await rpc.post(body);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual({ jsonrpc: "2.0", id, error: error(code) });
  });

  it.each(["message", "configuration", "message.parts", "unknown"])(
    "JSON without end in %s is -32602 in 0.3",
    async (path) => {
      await using rpc = await startRpc();
      const depth = 100_000;
      const names = path.split(".");
      const open = names.map((name) => `{"${name}":`).join("") + "[".repeat(depth);
      const body = `{"jsonrpc":"2.0","id":7,"method":"message/send","params":${open}${"]".repeat(depth)}${"}".repeat(names.length)}}`;
      expect(JSON.parse((await rpc.post(body)).text)).toEqual({ jsonrpc: "2.0", id: 7, error: error(-32602) });
    },
  );

  // Requirements: V03-RPC-7
  it.each([
    {},
    { message: {} },
    { message: { kind: "message" } },
    { message: { kind: "message", messageId: "m", role: "user" } },
    { message: { kind: "message", messageId: "m", role: "user", parts: [{}] } },
    { message: { kind: "message", messageId: "m", role: "user", parts: [{ kind: "file", file: {} }] } },
    { message: messageOf("x"), configuration: { pushNotificationConfig: {} } },
  ])("half a request is -32602 in 0.3 and nothing else: %j", async (params) => {
    await using rpc = await startRpc({ push: { allow: "loopback" } });
    expect((await rpc.call("message/send", params))["error"]).toEqual(
      error(-32602, expect.stringMatching(/^invalid parameters: (message|configuration\.pushNotificationConfig\.url)/)),
    );
  });

  // Requirements: V03-MSG-1
  it.each([
    ["who declares 0.3", { "A2A-Version": "0.3" }],
    ["who declares 0.2", { "A2A-Version": "0.2" }],
    ["who declares nothing", {}],
  ])("a 0.3 message without messageId is refused, and the field named, for a caller %s", async (_, headers) => {
    await using rpc = await startRpc();
    const { messageId: _id, ...message } = messageOf("hello");
    const answer = await rpc.call("message/send", { message }, headers);
    expect(answer["error"]).toEqual(error(-32602, "invalid parameters: message.messageId is required"));
  });

  it.each([
    ["tasks/get", { id: "none" }, -32001],
    ["tasks/cancel", { id: "none" }, -32001],
    ["message/send", { message: messageOf("x", { taskId: "none" }) }, -32001],
    ["agent/getAuthenticatedExtendedCard", undefined, -32007],
    ["agent/authenticatedExtendedCard", {}, -32007],
  ])("the call %s %j is %i in 0.3", async (method, params, code) => {
    await using rpc = await startRpc();
    expect((await rpc.call(method, params))["error"]).toEqual(error(code));
  });

  // Requirements: V03-SEND-3
  it("a 0.3 message to a task that has ended is -32004", async () => {
    await using rpc = await startRpc();
    const { id: taskId, contextId } = taskOf(await rpc.call("message/send", { message: messageOf("go") }));
    const answer = await rpc.call("message/send", { message: messageOf("again", { taskId, contextId }) });
    expect(answer["error"]).toEqual(error(-32004));
  });

  it("a 0.3 message to a task of another context is -32602", async () => {
    await using rpc = await startRpc();
    const { id: taskId } = taskOf(await rpc.call("message/send", { message: messageOf("ask") }));
    const answer = await rpc.call("message/send", { message: messageOf("x", { taskId, contextId: "other" }) });
    expect(answer["error"]).toEqual(error(-32602));
  });

  it("an error of 0.3 does not show what the agent throws", async () => {
    await using rpc = await startRpc();
    const answer = await rpc.call("message/send", { message: messageOf("fail") });
    expect(JSON.stringify(answer)).not.toContain("secret");
  });

  // Requirements: V03-SSE-7
  it("streams of 0.3 that are switched off are -32004", async () => {
    const card = { name: "T", description: "t", version: "1", capabilities: { streaming: false } };
    await using rpc = await startRpc({ card });
    for (const [method, params] of [
      ["message/stream", { message: messageOf("go") }],
      ["tasks/resubscribe", { id: "t" }],
    ] as const) {
      expect(await rpc.stream(method, params)).toEqual([{ error: error(-32004) }]);
    }
  });

  it("a failed 0.3 subscription is reported as an event to callers that read only events", async () => {
    await using rpc = await startRpc();
    expect(await rpc.stream("tasks/resubscribe", { id: "none" })).toEqual([{ error: error(-32001) }]);
  });

  it("a failed 0.3 subscription is reported as JSON to callers that read JSON and events", async () => {
    await using rpc = await startRpc();
    const body = JSON.stringify({ jsonrpc: "2.0", id: "q", method: "tasks/resubscribe", params: { id: "none" } });
    const answer = await rpc.post(body, { ...json, Accept: "application/json, text/event-stream" });
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
    expect(JSON.parse(answer.text)).toMatchObject({ id: "q", error: { code: -32001 } });
  });
});

describe("the envelope", () => {
  it("the envelope of 0.3 may be without jsonrpc and id, and then the answer has the id null", async () => {
    await using rpc = await startRpc();
    const { id } = taskOf(await rpc.call("message/send", { message: messageOf("go") }));
    const answer = await rpc.post(JSON.stringify({ method: "tasks/get", params: { id } }));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null, result: { id } });
  });

  it("the envelope of 0.3 without an id gets errors with the id null, over streams too", async () => {
    await using rpc = await startRpc();
    const unary = await rpc.post(JSON.stringify({ jsonrpc: "2.0", method: "tasks/get", params: { id: "none" } }));
    expect(JSON.parse(unary.text)).toMatchObject({ id: null, error: { code: -32001 } });
    const body = JSON.stringify({ jsonrpc: "2.0", method: "tasks/resubscribe", params: { id: "none" } });
    const stream = await rpc.post(body, { ...json, Accept: "text/event-stream" });
    expect(stream.text).toContain('data: {"jsonrpc":"2.0","id":null,"error":{"code":-32001');
  });

  it("the envelope of 0.3 with the id null is a request like any other", async () => {
    await using rpc = await startRpc();
    const body = { jsonrpc: "2.0", id: null, method: "message/send", params: { message: messageOf("hello") } };
    const answer = await rpc.post(JSON.stringify(body));
    expect(JSON.parse(answer.text)).toMatchObject({ id: null, result: { kind: "message" } });
  });

  it("the envelope of a 0.3 stream without an id gives events with the id null", async () => {
    await using rpc = await startRpc();
    const body = JSON.stringify({ method: "message/stream", params: { message: messageOf("hello") } });
    const { text } = await rpc.post(body);
    expect(text).toContain('data: {"jsonrpc":"2.0","id":null,"result":{"kind":"message"');
  });

  it.each([[{}], [{ "A2A-Version": "" }], [{ "A2A-Version": "0.3" }], [{ "A2A-Version": "0.3.0" }]])(
    "the envelope of 0.3 is sent with the header %j",
    async (headers) => {
      await using rpc = await startRpc();
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "none" } });
      const answer = await rpc.post(body, { ...json, ...headers });
      expect(JSON.parse(answer.text)).toEqual({ jsonrpc: "2.0", id: 1, error: error001 });
    },
  );

  const error001 = { code: -32001, message: "Task not found" };

  it.each([["2.0"], ["0.5"]])("the envelope of 0.3 that declares version %s is -32009", async (version) => {
    await using rpc = await startRpc();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/get", params: { id: "none" } });
    const answer = await rpc.post(body, { ...json, "A2A-Version": version });
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32009 } });
  });

  // Requirements: V03-EXT-2
  it("the answer of 0.3 names the extensions that were activated as 0.3 does", async () => {
    const uri = "https://ext.example/tide";
    const card = { name: "T", description: "t", version: "1", extensions: [{ uri }] };
    await using rpc = await startRpc({ card });
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message: messageOf("go") },
    });
    const answer = await rpc.post(body, { ...json, "X-A2A-Extensions": `${uri}, https://ext.example/other` });
    expect(answer.headers["x-a2a-extensions"]).toBe(uri);
  });
});
