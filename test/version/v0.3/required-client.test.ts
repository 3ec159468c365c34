import { createServer } from "node:http";
import { text as textOf } from "node:stream/consumers";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { serveHttp } from "../../support/http-agent.js";
import { errorOf, linesOf, requestOf, say, stateOf, taskOf } from "../../support/say.js";

// What our client sends to a foreign 0.3 server, and how it reads the responses.

interface Asked {
  readonly method: string | undefined;
  readonly type: string | undefined;
  readonly body: JsonObject;
}

interface Answered {
  readonly status?: number;
  readonly type?: string;
  readonly text: string;
}

/** A JSON-RPC server of 0.3 whose response is a function of the request id. */
async function foreign(answer: (id: JsonValue) => Answered) {
  const requests: Asked[] = [];
  const server = await serveHttp(
    createServer(async (request, response) => {
      const body = JSON.parse(await textOf(request)) as JsonObject;
      requests.push({ method: request.method, type: request.headers["content-type"], body });
      const { status = 200, type = "application/json", text } = answer(body["id"] ?? null);
      response.writeHead(status, { "content-type": type }).end(text);
    }),
  );
  const card = {
    ...{ protocolVersion: "0.3.0", name: "Foreign", description: "", version: "1" },
    ...{ url: server.url, preferredTransport: "JSONRPC", capabilities: { streaming: true } },
    ...{ defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"], skills: [] },
  };
  const client = await Client.connect(card, { retry: false });
  return {
    requests,
    client: client.operations,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const task = { kind: "task", id: "t", contextId: "c", status: { state: "completed" } };
const answered = (id: JsonValue, member: JsonObject): string => JSON.stringify({ jsonrpc: "2.0", id, ...member });

describe("a request", () => {
  // Requirements: V03-RPC-1, V03-RPC-2, V03-RPC-8, V03-CLI-4
  it("a 0.3 request has an integer id, its method, and is sent as JSON in its own POST", async () => {
    await using agent = await foreign((id) => ({ text: answered(id, { result: task }) }));
    await agent.client.sendMessage(say("go"), {});
    await agent.client.getTask(requestOf("getTask", { id: "t" }), {});
    expect(agent.requests).toMatchObject([
      { method: "POST", type: "application/json", body: { jsonrpc: "2.0", method: "message/send" } },
      { method: "POST", type: "application/json", body: { jsonrpc: "2.0", method: "tasks/get", params: { id: "t" } } },
    ]);
    const ids = agent.requests.map(({ body }) => body["id"]);
    for (const id of ids) expect(Number.isInteger(id)).toBe(true);
    expect(new Set(ids).size).toBe(2);
  });

  // Requirements: V03-SEND-8
  it.each([
    [undefined, true],
    [{ returnImmediately: false }, true],
    [{ returnImmediately: true }, false],
  ])("a 0.3 request says whether to wait, whatever its caller has set: %j", async (configuration, blocking) => {
    await using agent = await foreign((id) => ({ text: answered(id, { result: task }) }));
    await agent.client.sendMessage(say("go", configuration === undefined ? {} : { configuration }), {});
    expect(agent.requests[0]?.body["params"]).toMatchObject({ configuration: { blocking } });
  });

  // Requirements: V03-MSG-1, V03-MSG-2
  it("a 0.3 request has a message with its kind, id, role and parts of one content and kind each", async () => {
    await using agent = await foreign((id) => ({ text: answered(id, { result: task }) }));
    await agent.client.sendMessage(say("go", { messageId: "m", contextId: "c" }), {});
    expect(agent.requests[0]?.body["params"]).toHaveProperty("message", {
      ...{ kind: "message", messageId: "m", contextId: "c", role: "user" },
      parts: [{ kind: "text", text: "go" }],
    });
  });
});

describe("an answer", () => {
  // Requirements: V03-RPC-9
  it.each([200, 400, 404, 500, 501])("a 0.3 answer is read from its body, with HTTP status %i", async (status) => {
    const error = { code: -32001, message: "Task not found" };
    await using agent = await foreign((id) => ({ status, text: answered(id, { error }) }));
    const { code, message } = await errorOf(agent.client.getTask(requestOf("getTask", { id: "t" }), {}));
    expect([code, message]).toEqual(["taskNotFound", "Task not found"]);
  });

  // Requirements: V03-ERR-2
  it.each([
    [-32700, "parseError"],
    [-32600, "invalidRequest"],
    [-32601, "methodNotFound"],
    [-32602, "invalidParams"],
    [-32603, "internalError"],
    [-32001, "taskNotFound"],
    [-32002, "taskNotCancelable"],
    [-32003, "pushNotificationNotSupported"],
    [-32004, "unsupportedOperation"],
    [-32005, "contentTypeNotSupported"],
    [-32006, "invalidAgentResponse"],
    [-32007, "extendedAgentCardNotConfigured"],
    [-32050, "internalError"],
  ])("a 0.3 answer with the number %i is %s", async (number, code) => {
    await using agent = await foreign((id) => ({ text: answered(id, { error: { code: number, message: "so" } }) }));
    expect(await errorOf(agent.client.sendMessage(say("go"), {}))).toMatchObject({ code, message: "so" });
  });

  // Requirements: V03-SSE-12
  it("a 0.3 answer that is one JSON object is the failure of a stream as well", async () => {
    const error = { code: -32004, message: "no streams here" };
    await using agent = await foreign((id) => ({ text: answered(id, { error }) }));
    const stream = agent.client.sendStreamingMessage(say("go"), {});
    expect(await errorOf(stream)).toMatchObject({ code: "unsupportedOperation", message: "no streams here" });
  });
});

// Requirements: V03-SSE-10
it("a 0.3 stream may have lines of any kind, and is over at its end", async () => {
  const event = (id: JsonValue, result: JsonObject): string => answered(id, { result });
  await using agent = await foreign((id) => {
    const [first, second] = event(id, { ...task, status: { state: "working" } }).split(',"result"');
    const last = { kind: "status-update", taskId: "t", contextId: "c", status: { state: "completed" }, final: true };
    const lines = [
      ": a comment",
      "retry: 1000",
      "event: message",
      "id: 7",
      `data:${first},`,
      `data: ${second === undefined ? "" : `"result"${second}`}`,
      "",
      `data: ${event(id, last)}`,
      "",
      "",
    ];
    return { type: "text/event-stream", text: lines.join("\r\n") };
  });
  expect(await linesOf(agent.client.sendStreamingMessage(say("go"), {}))).toEqual(["task WORKING", "status COMPLETED"]);
});

it("an unknown member of 0.3 is ignored, and an optional one may be missing", async () => {
  await using agent = await foreign((id) => ({ text: answered(id, { result: { ...task, surprise: { a: 1 } } }) }));
  expect(stateOf(taskOf(await agent.client.sendMessage(say("go"), {})))).toBe("COMPLETED");
});
