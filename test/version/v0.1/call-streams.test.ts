import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createTransport } from "../../../src/binding/transport.js";
import { artifact } from "../../../src/protocol/events.js";
import { SubscribeToTaskRequestSchema, type Task, TaskSchema, TaskState } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { callV01 } from "../../../src/version/v0.1/calls.js";
import { itemsOf } from "../../support/items.js";
import { type ForeignCall, foreignAgent } from "./foreign-agent.js";
import { message } from "./messages.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const working = { id: "t", status: { state: "working" }, final: false };
const done = { id: "t", status: { state: "completed" }, final: true };
const chunk = (text: string, more: JsonObject = {}): JsonObject => ({
  id: "t",
  artifact: { index: 0, parts: [{ type: "text", text }], ...more },
});

describe("the stream of a send", () => {
  // The behavior of trpc-a2a-go.
  it("the 0.1 stream of a send ends with the final status, though the agent leaves it open", async () => {
    await using agent = await foreignAgent(({ event }) => {
      event(working, `event: task_status_update\ndata: ${rpc(working)}\n\n`);
      event(
        null,
        `event: task_artifact_update\ndata: ${rpc({ ...chunk("K4", { lastChunk: true }), final: true })}\n\n`,
      );
      event(done);
    });
    const items = await itemsOf(agent.operations.sendStreamingMessage(message(), {}));
    expect(items.map(({ response }) => response.payload.case)).toEqual([
      "task",
      "statusUpdate",
      "artifactUpdate",
      "statusUpdate",
    ]);
    expect(agent.requests).toMatchObject([["tasks/sendSubscribe", { id: expect.stringMatching(uuid) }]]);
  });

  it("the 0.1 stream of a send ends with a question that the agent neither marks nor ends it with", async () => {
    await using agent = await foreignAgent(({ event }) =>
      event({ id: "t", status: { state: "input-required" }, final: false }),
    );
    const items = await itemsOf(agent.operations.sendStreamingMessage(message(), {}));
    expect(items.at(-1)?.response.payload.value).toMatchObject({ status: { state: TaskState.INPUT_REQUIRED } });
  });

  // The behavior of a2a-js and trpc-a2a-go.
  it.each(["event: end\ndata: {}\n\n", "event: close\ndata: {}\n\n"])(
    "the 0.1 stream of a send ends with %j",
    async (last) => {
      await using agent = await foreignAgent(({ event }) => {
        event(working);
        event(null, last);
      });
      expect(await itemsOf(agent.operations.sendStreamingMessage(message(), {}))).toHaveLength(2);
    },
  );

  it("the 0.1 stream of a send fails with the error that an event carries", async () => {
    await using agent = await foreignAgent(({ event, response }) => {
      event(working);
      event(
        null,
        `event: error\ndata: ${JSON.stringify({ error: { code: -32010, message: "slow down", type: "x" } })}\n\n`,
      );
      response.end();
    });
    await expect(itemsOf(agent.operations.sendStreamingMessage(message(), {}))).rejects.toMatchObject({
      code: "resourceExhausted",
    });
  });

  it("the 0.1 stream of a send may be a task that the agent answers with at once", async () => {
    await using agent = await foreignAgent(({ result }) =>
      result({ id: "t", sessionId: "s", status: { state: "completed" }, artifacts: [{ parts: [] }] }),
    );
    const items = await itemsOf(agent.operations.sendStreamingMessage(message(), {}));
    expect(items.map(({ response }) => response.payload)).toMatchObject([{ case: "task", value: { contextId: "s" } }]);
  });
});

describe("a subscription", () => {
  const subscription = create(SubscribeToTaskRequestSchema, { id: "t" });
  const task = (word: string): JsonObject => ({ id: "t", sessionId: "s", status: { state: word } });
  const chunkItem = (text: string): StreamItem => {
    const update = { ...artifact(text, { artifactId: "0", append: true }), taskId: "t" };
    return {
      response: { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "artifactUpdate", value: update } },
    };
  };

  it("a 0.1 subscription begins with the task", async () => {
    const streaming = Promise.withResolvers<ForeignCall>();
    await using agent = await foreignAgent((call) => {
      if (call.method === "tasks/get") call.result(task("working"));
      else streaming.resolve(call);
    });
    const stream = agent.operations.subscribeToTask(subscription, {})[Symbol.asyncIterator]();
    expect(await stream.next()).toMatchObject({
      value: { response: { payload: { case: "task", value: { contextId: "s" } } } },
    });
    const { event } = await streaming.promise;
    event(chunk("K4"));
    event(done);
    expect(await stream.next()).toMatchObject({ value: { response: { payload: { case: "artifactUpdate" } } } });
    expect(await stream.next()).toMatchObject({ value: { response: { payload: { case: "statusUpdate" } } } });
    expect(await stream.next()).toMatchObject({ done: true });
  });

  it("a 0.1 subscription emits nothing that the task already has", async () => {
    const response = Promise.withResolvers<Task>();
    const early = Promise.withResolvers<void>();
    async function* events(): AsyncGenerator<StreamItem> {
      yield chunkItem("early");
      early.resolve();
      await response.promise;
      yield chunkItem("late");
    }
    const transport = callV01(createTransport({ unary: () => response.promise, stream: () => events() }));
    const stream = transport.subscribeToTask(subscription, {})[Symbol.asyncIterator]();
    const first = stream.next();
    await early.promise;
    response.resolve(create(TaskSchema, { id: "t", status: { state: TaskState.WORKING } }));
    expect(await first).toMatchObject({ value: { response: { payload: { case: "task" } } } });
    expect(await stream.next()).toMatchObject({ value: chunkItem("late") });
    expect(await stream.next()).toMatchObject({ done: true });
  });

  it.each([
    [200, { code: -32009, message: "Invalid task state" }],
    [500, { code: -32006, message: "no stream" }],
  ])("a 0.1 subscription to an ended task is that task, whatever the agent answers (%d %j)", async (status, error) => {
    await using agent = await foreignAgent((call) => {
      if (call.method === "tasks/get") call.result(task("completed"));
      else call.fail(status, error);
    });
    const items = await itemsOf(agent.operations.subscribeToTask(subscription, {}));
    expect(items.map(({ response }) => response.payload)).toMatchObject([{ case: "task", value: { id: "t" } }]);
  });

  it("a 0.1 subscription to an unknown task fails", async () => {
    await using agent = await foreignAgent(({ fail }) => fail(200, { code: -32001, message: "Task not found" }));
    await expect(itemsOf(agent.operations.subscribeToTask(subscription, {}))).rejects.toMatchObject({
      code: "taskNotFound",
    });
  });

  it("a 0.1 subscription at an agent without streams is refused before the first event", async () => {
    let asking: ForeignCall | undefined;
    await using agent = await foreignAgent((call) => {
      if (call.method === "tasks/get") asking = call;
      else {
        call.response.on("finish", () => setImmediate(() => asking?.result(task("working"))));
        call.fail(400, { code: -32601, message: "Method not found" });
      }
    });
    await expect(
      agent.operations.subscribeToTask(subscription, {})[Symbol.asyncIterator]().next(),
    ).rejects.toMatchObject({
      code: "methodNotFound",
    });
  });

  it("a 0.1 subscription at an agent that refuses too late breaks, and the next one is refused at once", async () => {
    const streaming = Promise.withResolvers<ForeignCall>();
    await using agent = await foreignAgent((call) => {
      if (call.method === "tasks/get") call.result(task("working"));
      else streaming.resolve(call);
    });
    const stream = agent.operations.subscribeToTask(subscription, {})[Symbol.asyncIterator]();
    await stream.next();
    (await streaming.promise).fail(400, { code: -32601, message: "Method not found" });
    await expect(stream.next()).rejects.toMatchObject({ code: "unavailable" });
    const before = agent.requests.length;
    await expect(itemsOf(agent.operations.subscribeToTask(subscription, {}))).rejects.toMatchObject({
      code: "methodNotFound",
    });
    expect(agent.requests).toHaveLength(before);
  });

  it.each([0, 1])("a 0.1 subscription can be left while it waits, %d items on", async (count) => {
    await using agent = await foreignAgent((call) => {
      if (call.method === "tasks/get" && count > 0) call.result(task("working"));
    });
    const stream = agent.operations.subscribeToTask(subscription, {})[Symbol.asyncIterator]();
    for (let index = 0; index < count; index++) await stream.next();
    const waiting = stream.next();
    await stream.return?.();
    expect(await waiting).toMatchObject({ done: true });
    expect(await stream.next()).toMatchObject({ done: true });
  });
});

function rpc(result: JsonValue): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, result });
}
