import { create } from "@bufbuild/protobuf";
import type { Agent } from "trivium";
import { artifact, completed, inputRequired, working } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createJsonRpcTransport } from "../../../src/binding/json-rpc/client.js";
import type { CallOptions } from "../../../src/protocol/context.js";
import {
  PartSchema,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SubscribeToTaskRequestSchema,
  TaskState,
} from "../../../src/protocol/model.js";
import type { Operations, StreamItem } from "../../../src/protocol/operations.js";
import { createV01 } from "../../../src/version/v0.1/v01.js";
import { itemsOf } from "../../support/items.js";
import { type ServedAgent, startAgent } from "../../support/serve-agent.js";

// A client and a server of 0.1, connected by the wire format only.

let gate = Promise.withResolvers<void>();

const agent: Agent = async function* ({ message }) {
  const [part] = message.parts;
  yield working();
  if (part?.content.case === "text" && part.content.value === "ask") {
    yield inputRequired("Which berth?");
    return;
  }
  yield artifact("K", { artifactId: "plan" });
  if (part?.content.case === "text" && part.content.value === "hold") await gate.promise;
  yield artifact("4", { artifactId: "plan", append: true, lastChunk: true });
  yield completed("done");
};

let served: ServedAgent;
let operations: Operations<CallOptions>;

beforeAll(async () => {
  served = await startAgent("JSONRPC", { agent });
  const { jsonRpc } = createV01();
  if (jsonRpc === undefined) throw new TypeError("version 0.1 has no JSON-RPC");
  operations = createJsonRpcTransport({ url: served.server.url, adapter: jsonRpc });
});

afterAll(() => served[Symbol.asyncDispose]());

function say(text: string, taskId = ""): SendMessageRequest {
  const parts = [create(PartSchema, { content: { case: "text", value: text } })];
  return create(SendMessageRequestSchema, { message: { messageId: "m", role: Role.USER, parts, taskId } });
}

const cases = (items: readonly StreamItem[]): unknown[] => items.map(({ response }) => response.payload.case);

describe("0.1 at both ends", () => {
  it("a 0.1 client at our server sends, and continues the resulting task", async () => {
    const { payload } = await operations.sendMessage(say("ask"), {});
    if (payload.case !== "task") throw new TypeError("the answer is no task");
    expect(payload.value.status?.state).toBe(TaskState.INPUT_REQUIRED);
    const again = await operations.sendMessage(say("berth", payload.value.id), {});
    expect(again.payload).toMatchObject({
      value: {
        id: payload.value.id,
        contextId: payload.value.contextId,
        status: { state: TaskState.COMPLETED },
        artifacts: [{ artifactId: "0", parts: [{ content: { value: "K4" } }] }],
      },
    });
  });

  it("a 0.1 client at our server streams to the end", async () => {
    const items = await itemsOf(operations.sendStreamingMessage(say("berth"), {}));
    expect(cases(items)[0]).toBe("task");
    expect(items.at(-1)?.response.payload).toMatchObject({
      case: "statusUpdate",
      value: { status: { state: TaskState.COMPLETED, message: { parts: [{ content: { value: "done" } }] } } },
    });
    expect(cases(items).filter((each) => each === "artifactUpdate")).toHaveLength(2);
  });

  it("a 0.1 client at our server subscribes to a task that is at work, from its snapshot to its end", async () => {
    gate = Promise.withResolvers<void>();
    const first = operations.sendStreamingMessage(say("hold"), {})[Symbol.asyncIterator]();
    let id = "";
    for (let kind = ""; kind !== "artifactUpdate"; ) {
      const { value } = await first.next();
      const payload = (value as StreamItem).response.payload;
      kind = payload.case ?? "";
      if (payload.case === "task") id = payload.value.id;
    }
    await first.return?.();
    const stream = operations.subscribeToTask(create(SubscribeToTaskRequestSchema, { id }), {})[Symbol.asyncIterator]();
    const { value: snapshot } = await stream.next();
    expect((snapshot as StreamItem).response.payload).toMatchObject({
      case: "task",
      value: { id, status: { state: TaskState.WORKING }, artifacts: [{ parts: [{ content: { value: "K" } }] }] },
    });
    gate.resolve();
    const rest = await itemsOf({ [Symbol.asyncIterator]: () => stream });
    expect(rest.at(-1)?.response.payload).toMatchObject({ value: { status: { state: TaskState.COMPLETED } } });
  });

  it("a 0.1 client at our server subscribes to a task that has ended", async () => {
    const { payload } = await operations.sendMessage(say("berth"), {});
    const id = payload.case === "task" ? payload.value.id : "";
    const items = await itemsOf(operations.subscribeToTask(create(SubscribeToTaskRequestSchema, { id }), {}));
    expect(items[0]?.response.payload).toMatchObject({ case: "task", value: { id } });
    expect(items).toHaveLength(1);
  });

  it("a 0.1 client at our server gets an error about an ended task", async () => {
    const { payload } = await operations.sendMessage(say("berth"), {});
    const id = payload.case === "task" ? payload.value.id : "";
    await expect(operations.sendMessage(say("berth", id), {})).rejects.toMatchObject({ code: "unsupportedOperation" });
    await expect(itemsOf(operations.sendStreamingMessage(say("berth", id), {}))).rejects.toMatchObject({
      code: "unsupportedOperation",
    });
  });
});
