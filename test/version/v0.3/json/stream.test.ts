import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  type AgentEvent,
  artifact,
  inputRequired,
  type ParkEvent,
  reply,
  statusEvent,
} from "../../../../src/protocol/events.js";
import {
  SendMessageRequestSchema,
  type StreamResponse,
  StreamResponseSchema,
  SubscribeToTaskRequestSchema,
  TaskState,
} from "../../../../src/protocol/model.js";
import { findOperation, type OperationName, type StreamItem } from "../../../../src/protocol/operations.js";
import { kindJsonStreamReader, kindJsonStreamWriter } from "../../../../src/version/v0.3/json/stream.js";

const send = (taskId = "") => create(SendMessageRequestSchema, { message: { messageId: "m", taskId } });
const subscribe = create(SubscribeToTaskRequestSchema, { id: "t" });

describe("the end of a stream is marked", () => {
  const terminal = [TaskState.COMPLETED, TaskState.CANCELED, TaskState.FAILED, TaskState.REJECTED];

  // Requirements: V03-SSE-4
  it.each(terminal)("the end of a 0.3 stream is marked with the terminal state %i", (state) => {
    expect(finals("subscribeToTask", subscribe, [task(TaskState.WORKING), status(state)])).toEqual([undefined, true]);
  });

  it("the end of a 0.3 stream is marked with a question, in the stream of the message that began the work", () => {
    const items = [task(TaskState.SUBMITTED), status(TaskState.WORKING), event(inputRequired("Which?"))];
    expect(finals("sendStreamingMessage", send(), items)).toEqual([undefined, false, true]);
  });

  it("the end of a 0.3 stream is marked with a question, also behind the answer to another", () => {
    const items = [task(TaskState.INPUT_REQUIRED), status(TaskState.WORKING), event(inputRequired("And which?"))];
    expect(finals("sendStreamingMessage", send("t"), items)).toEqual([undefined, false, true]);
  });

  it("the end of a 0.3 stream is not marked with a question to a caller whose message came before", () => {
    const items = [
      task(TaskState.WORKING),
      event(inputRequired("Which?")),
      status(TaskState.WORKING),
      status(TaskState.COMPLETED),
    ];
    expect(finals("sendStreamingMessage", send("t"), items)).toEqual([undefined, false, false, true]);
  });

  it("a question does not mark the end of a 0.3 subscription, which continues", () => {
    const items = [task(TaskState.WORKING), event(inputRequired("Which?")), status(TaskState.COMPLETED)];
    expect(finals("subscribeToTask", subscribe, items)).toEqual([undefined, false, true]);
  });

  // Requirements: IOP-9
  it("the end of a 0.3 stream is marked once only", () => {
    const items = [task(TaskState.WORKING), status(TaskState.COMPLETED), status(TaskState.FAILED)];
    expect(finals("subscribeToTask", subscribe, items)).toEqual([undefined, true, false]);
  });

  // Requirements: V03-SSE-4, IOP-9
  it("the end of a 0.3 stream is marked by one more status with the last one known, when the stream just ends", () => {
    const writer = kindJsonStreamWriter(findOperation("sendStreamingMessage"), send("t"));
    for (const response of [task(TaskState.WORKING), status(TaskState.AUTH_REQUIRED), event(artifact("x"))]) {
      writer.write({ response });
    }
    expect(readPayloads(writer.end?.())).toEqual([
      { kind: "status-update", taskId: "t", contextId: "c", status: { state: "auth-required" }, final: true },
    ]);
    expect(writer.end?.()).toEqual([]);
  });

  it("the end of a 0.3 stream is marked by one more status after a task that has ended", () => {
    const writer = kindJsonStreamWriter(findOperation("subscribeToTask"), subscribe);
    writer.write({ response: task(TaskState.COMPLETED) });
    expect(readPayloads(writer.end?.())).toMatchObject([{ status: { state: "completed" }, final: true }]);
  });

  it.each([
    ["a status that said so", [status(TaskState.COMPLETED)]],
    ["a message", [event(reply("hi"))]],
    ["nothing", []],
    ["an artifact alone, of which no state is known", [event(artifact("x"))]],
  ])("the end of a 0.3 stream is marked by nothing more after %s", (_, items) => {
    const writer = kindJsonStreamWriter(findOperation("sendStreamingMessage"), send());
    for (const response of items) writer.write({ response });
    expect(writer.end?.()).toEqual([]);
  });
});

describe("the text of an event", () => {
  const operation = findOperation("subscribeToTask");

  it("the text of a 0.3 event is sent with its id", () => {
    const [written] = kindJsonStreamWriter(operation, subscribe).write({
      response: task(TaskState.WORKING),
      id: "t.i.7",
    });
    expect(written).toMatchObject({ id: "t.i.7" });
    expect(written?.name).toBeUndefined();
  });

  it("the text of a 0.3 event is made once for all streams that end with it, and once for all others", () => {
    const item: StreamItem = { response: status(TaskState.COMPLETED) };
    const first = kindJsonStreamWriter(operation, subscribe).write(item);
    const late = kindJsonStreamWriter(operation, subscribe);
    late.write({ response: status(TaskState.FAILED) });
    const other = late.write(item);
    // Changes the event after the first write: an unchanged text shows that it is not encoded again.
    if (item.response.payload.case === "statusUpdate") item.response.payload.value.taskId = "changed";
    expect(kindJsonStreamWriter(operation, subscribe).write(item)).toEqual(first);
    expect(late.write(item)).toEqual(other);
    expect(readPayloads([...first, ...other])).toMatchObject([
      { taskId: "t", final: true },
      { taskId: "t", final: false },
    ]);
  });
});

describe("a stream that is read", () => {
  const working = { kind: "status-update", taskId: "t", contextId: "c", status: { state: "working" }, final: false };
  const note = { kind: "message", messageId: "m-9", role: "agent", parts: [{ kind: "text", text: "soon" }] };
  const chunk = { kind: "artifact-update", taskId: "t", contextId: "c", artifact: { artifactId: "a", parts: [] } };

  it("a 0.3 stream that is read begins with a task, where the peer begins with a status", () => {
    const reader = kindJsonStreamReader(findOperation("sendStreamingMessage"));
    const items = reader.read({ ...working, status: { state: "working", message: note } });
    expect(items.map(({ response }) => response.payload)).toMatchObject([
      { case: "task", value: { id: "t", contextId: "c", status: { state: TaskState.WORKING } } },
      { case: "statusUpdate" },
    ]);
    const [first] = items;
    expect(first?.response.payload.case === "task" && first.response.payload.value.status?.message).toBeUndefined();
    expect(reader.read(working)).toHaveLength(1);
  });

  it("a 0.3 stream that is read begins with a task at work, where the peer begins with an artifact", () => {
    const items = kindJsonStreamReader(findOperation("sendStreamingMessage")).read(chunk);
    expect(items).toMatchObject([
      { response: { payload: { case: "task", value: { status: { state: TaskState.WORKING } } } } },
      { response: { payload: { case: "artifactUpdate" } } },
    ]);
  });

  it.each([
    ["of a subscription, which only the peer knows the beginning of", "subscribeToTask", undefined],
    ["that goes on behind an event", "sendStreamingMessage", "t.i.7"],
  ] as const)("a 0.3 stream that is read is given no task %s", (_, name, id) => {
    expect(kindJsonStreamReader(findOperation(name)).read(working, { id })).toMatchObject([
      { response: { payload: { case: "statusUpdate" } }, id },
    ]);
  });

  it.each(["1764000000000", "7", ""])("a 0.3 stream that is read does not resume from the number %j", (id) => {
    const [, item] = kindJsonStreamReader(findOperation("sendStreamingMessage")).read(working, { id });
    expect(item).toMatchObject({ response: { payload: { case: "statusUpdate" } }, id: undefined });
  });

  // Requirements: V03-SSE-11
  it.each([
    ["a status that says so", { ...working, status: { state: "input-required" }, final: true }, true],
    ["a terminal state", { ...working, status: { state: "failed" } }, true],
    ["a message", note, true],
    ["a status", working, false],
    ["a question", { ...working, status: { state: "input-required" } }, false],
    ["the last chunk of an artifact, whatever it says", { ...chunk, lastChunk: true, final: true }, false],
    ["a task that has ended", { kind: "task", id: "t", contextId: "c", status: { state: "completed" } }, false],
  ] as const)("a 0.3 stream that is read is over after %s: %j", (_, json, over) => {
    const reader = kindJsonStreamReader(findOperation("sendStreamingMessage"));
    reader.read(json as unknown as JsonObject);
    expect(reader.isOver).toBe(over);
  });

  it.each([{ kind: "mood", good: true }, {}, null])("a 0.3 stream that is read passes over %j", (json) => {
    expect(kindJsonStreamReader(findOperation("subscribeToTask")).read(json)).toEqual([]);
  });

  it.each([7, "x", [], { kind: "task", id: 7 }])("a 0.3 stream that is read fails on %j", (json) => {
    expect(() => kindJsonStreamReader(findOperation("subscribeToTask")).read(json)).toThrow(
      expect.objectContaining({ code: "invalidAgentResponse" }),
    );
  });
});

function finals(
  name: OperationName,
  request: ReturnType<typeof send> | typeof subscribe,
  items: readonly StreamResponse[],
): readonly unknown[] {
  const writer = kindJsonStreamWriter(findOperation(name), request);
  return items.flatMap((response) => readPayloads(writer.write({ response })).map(({ final }) => final));
}

function readPayloads(events: readonly { readonly payload: string }[] | undefined): JsonObject[] {
  return (events ?? []).map(({ payload }) => JSON.parse(payload) as JsonObject);
}

function task(state: TaskState): StreamResponse {
  return create(StreamResponseSchema, {
    payload: { case: "task", value: { id: "t", contextId: "c", status: { state } } },
  });
}

function status(state: TaskState): StreamResponse {
  return event(statusEvent(state));
}

/** An agent's event for task `t`. */
function event(agentEvent: Exclude<AgentEvent, ParkEvent>): StreamResponse {
  switch (agentEvent.$typeName) {
    case "lf.a2a.v1.Message":
      return create(StreamResponseSchema, { payload: { case: "message", value: agentEvent } });
    case "lf.a2a.v1.TaskStatusUpdateEvent":
      return create(StreamResponseSchema, {
        payload: { case: "statusUpdate", value: { ...agentEvent, taskId: "t", contextId: "c" } },
      });
    case "lf.a2a.v1.TaskArtifactUpdateEvent":
      return create(StreamResponseSchema, {
        payload: { case: "artifactUpdate", value: { ...agentEvent, taskId: "t", contextId: "c" } },
      });
    default:
      return agentEvent;
  }
}
