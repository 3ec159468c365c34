import type { ServerResponse } from "node:http";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { TaskState } from "../../src/protocol/model.js";
import { lineOf } from "../support/say.js";
import { type RpcRequest, rpcServer } from "./support/rpc-server.js";

// Agents whose cards fit both of the two oldest versions and which know methods of both.

const near = { allowPrivate: true, retry: false } as const;

const guessed = (url: string): JsonObject => ({
  name: "Guessed",
  url,
  version: "1",
  capabilities: { streaming: true },
  skills: [{ id: "s", name: "S" }],
});

/** An agent's answer to each method: a result, an error, or the events of a stream. */
type Answers = Readonly<Record<string, (params: JsonObject) => JsonObject | readonly JsonValue[]>>;

const error = (code: number) => (): JsonObject => ({ error: { code, message: "no", type: "SomeError" } });
const result =
  (value: JsonObject) =>
  ({ id = null }: JsonObject): JsonObject => ({ result: { ...value, ...(id === null ? {} : { id }) } });

async function agentOf(answers: Answers) {
  return rpcServer((response, { method, params }) => {
    const answer = answers[method]?.(params);
    if (answer === undefined) return reply(response, 400, error(-32601)());
    if (!isList(answer)) return reply(response, 200, answer);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of answer) response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: event })}\n\n`);
    response.end("event: end\ndata: {}\n\n");
  });
}

function isList(answer: JsonObject | readonly JsonValue[]): answer is readonly JsonValue[] {
  return Array.isArray(answer);
}

function reply(response: ServerResponse, status: number, member: JsonObject): void {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...member });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

const done = { status: { state: "completed" }, artifacts: [{ index: 0, parts: [{ type: "text", text: "one two" }] }] };
const working = { ...done, status: { state: "working" }, artifacts: [] };
const piece = (id: JsonValue, text: string, append: boolean): JsonObject => ({
  id,
  artifact: { index: 0, append, parts: [{ type: "text", text }] },
});
const answerInPieces = ({ id = null }: JsonObject): readonly JsonValue[] => [
  piece(id, "one ", false),
  piece(id, "two", true),
  { id, status: { state: "completed" }, final: true },
];

/** A real agent that speaks 0.1 but uses method names of later drafts. */
const oldest: Answers = {
  "tasks/send": result(done),
  "message/send": result(done),
  "tasks/sendSubscribe": answerInPieces,
  "message/sendStream": answerInPieces,
  "tasks/get": result(working),
  "tasks/resubscribe": answerInPieces,
  "tasks/pushNotificationConfig/get": error(-32004),
};

const methodsOf = (requests: readonly RpcRequest[]) => requests.map(({ method }) => method);
const question = "tasks/pushNotificationConfig/get";

async function linesOf(stream: ReturnType<Client["stream"]>): Promise<string[]> {
  const lines: string[] = [];
  for await (const item of stream) lines.push(lineOf(item));
  return lines;
}

describe("an agent of 0.1 that refuses the probe of 0.2 as an agent without push does", () => {
  it("an agent of 0.1 that refuses the probe of 0.2 is sent each message once, as a task", async () => {
    await using server = await agentOf(oldest);
    await using client = await Client.connect(guessed(server.url), near);
    for (const _ of [1, 2]) expect(await client.send("go")).toMatchObject({ state: "completed" });
    expect(methodsOf(server.requests)).toEqual([question, "message/stream", "tasks/send", "tasks/send"]);
    expect(server.requests[1]?.params).not.toHaveProperty("message");
    expect(client.connection).toMatchObject({ version: "0.1", skipped: [{ version: "0.2" }] });
  });

  it("an agent of 0.1 that refuses the probe is subscribed to first, and no event is lost", async () => {
    await using server = await agentOf(oldest);
    await using client = await Client.connect(guessed(server.url), near);
    const lines = await linesOf(client.watch("t"));
    expect(lines.join()).toContain("one ");
    expect(lines.join()).toContain("two");
    expect(client.connection?.version).toBe("0.1");
  });
});

describe("an agent of 0.1 that answers the question of 0.2", () => {
  const misleading: Answers = { ...oldest, [question]: error(-32001) };

  it("an agent of 0.1 that answers the probe is known by its first task, and asked for it again", async () => {
    await using server = await agentOf(misleading);
    await using client = await Client.connect(guessed(server.url), near);
    expect(await client.getTask({ id: "t" })).toMatchObject({ id: "t", status: { state: TaskState.WORKING } });
    await client.send("go");
    expect(methodsOf(server.requests)).toEqual([question, "tasks/get", "tasks/get", "tasks/send"]);
    expect(client.connection).toMatchObject({
      version: "0.1",
      skipped: [{ version: "0.2", reason: expect.stringContaining("answers in an older form") }],
    });
  });

  it("an agent of 0.1 that answers the probe is known by its first event, and subscribed to again", async () => {
    await using server = await agentOf(misleading);
    await using client = await Client.connect(guessed(server.url), near);
    const lines = await linesOf(client.watch("t"));
    expect(lines.join()).toContain("two");
    expect(methodsOf(server.requests).filter((method) => method === "tasks/resubscribe")).toHaveLength(2);
    expect(client.connection?.version).toBe("0.1");
  });

  it("an agent of 0.1 that answers the probe takes a message once, which fails, and the next as a task", async () => {
    await using server = await agentOf(misleading);
    await using client = await Client.connect(guessed(server.url), near);
    await expect(client.send("go")).rejects.toMatchObject({
      code: "invalidAgentResponse",
      message: expect.stringContaining("called in version 0.2, the agent answers in an older form"),
    });
    expect(await client.send("go")).toMatchObject({ state: "completed" });
    const sends = methodsOf(server.requests).filter((method) => method.endsWith("/send"));
    expect(sends).toEqual(["message/send", "tasks/send"]);
  });
});

describe("an agent of 0.2", () => {
  const task = { kind: "task", id: "t", contextId: "c", status: { state: "completed" } };
  const usualAnswers: Answers = {
    [question]: error(-32004),
    "message/stream": ({ message = null }) => (message === null ? error(-32602)() : [task]),
    "message/send": () => ({ result: task }),
    "tasks/get": () => ({ result: task }),
  };

  it.each([-32602, -32600, -32603, -32004])(
    "an agent of 0.2 that has no push is known by its streams: %i",
    async (code) => {
      const answers = { ...usualAnswers, "message/stream": error(code) };
      await using server = await agentOf(answers);
      await using client = await Client.connect(guessed(server.url), near);
      for (const _ of [1, 2]) expect(await client.send("go")).toMatchObject({ taskId: "t" });
      expect(methodsOf(server.requests)).toEqual([question, "message/stream", "message/send", "message/send"]);
      expect(client.connection).toMatchObject({ version: "0.2", skipped: [] });
    },
  );

  it("an agent of 0.2 is known for good once it has returned a task in its form", async () => {
    let isGone = false;
    const gone = error(-32601);
    await using server = await agentOf({
      ...usualAnswers,
      "message/send": () => (isGone ? gone() : { result: task }),
      "tasks/send": result(done),
    });
    await using client = await Client.connect(guessed(server.url), near);
    await client.getTask({ id: "t" });
    isGone = true;
    await expect(client.send("go")).rejects.toMatchObject({ code: "methodNotFound" });
    expect(methodsOf(server.requests)).not.toContain("tasks/send");
  });
});
