import { create, type JsonObject, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { artifact, inputRequired, reply, statusEvent, working } from "../../../src/protocol/events.js";
import {
  GetTaskRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  TaskSchema,
  TaskState,
} from "../../../src/protocol/model.js";
import { findOperation, type Operation, type StreamItem } from "../../../src/protocol/operations.js";
import type { EventHead } from "../../../src/version/codec.js";
import { createV01 } from "../../../src/version/v0.1/v01.js";

const { jsonRpc } = createV01();
if (jsonRpc === undefined) throw new TypeError("version 0.1 has no JSON-RPC");
const adapter = jsonRpc;

const sends = findOperation("sendStreamingMessage");
const subscribes = findOperation("subscribeToTask");
const params = { id: "t", sessionId: "s", message: { role: "user", parts: [{ type: "text", text: "hello" }] } };
const sendRequest = adapter.codec(sends).readRequest(params);
const subscribed = create(SubscribeToTaskRequestSchema, { id: "t" });

interface Said {
  readonly name: string | undefined;
  readonly json: JsonValue;
}

/** Returns the events that a stream writes for these items, including those at its end. */
function writeAll(operation: Operation, items: readonly StreamItem[]): Said[] {
  const writer = adapter.writeStream(operation, operation === sends ? sendRequest : subscribed);
  const events = [...items.flatMap((item) => writer.write(item)), ...(writer.end?.() ?? [])];
  for (const { id } of events) expect(id).toBeUndefined();
  return events.map(({ name, payload }) => ({ name, json: JSON.parse(payload) as JsonValue }));
}

const status = (state: TaskState): StreamItem =>
  item("statusUpdate", { ...statusEvent(state), taskId: "t", contextId: "s" });

const chunk = (artifactId: string, append = false): StreamItem =>
  item("artifactUpdate", { ...artifact("K4", { artifactId, append }), taskId: "t", contextId: "s" });

function item<K extends "statusUpdate" | "artifactUpdate" | "message" | "task">(
  name: K,
  value: Extract<StreamResponse["payload"], { case: K }>["value"],
): StreamItem {
  const payload = { case: name, value } as StreamResponse["payload"];
  return { response: { $typeName: "lf.a2a.v1.StreamResponse", payload }, id: "e-1" };
}

const task = (init: MessageInitShape<typeof TaskSchema>): StreamItem =>
  item("task", create(TaskSchema, { id: "t", contextId: "s", ...init }));

const states = (events: readonly Said[]): JsonValue[] =>
  events.map(({ json }) => {
    const { status, final = null, artifact } = json as JsonObject;
    if (artifact !== undefined) return `artifact ${(artifact as JsonObject)["index"]}`;
    return [(status as JsonObject)["state"] ?? null, final];
  });

describe("a stream as a caller of 0.1 reads it", () => {
  it("a stream as a caller of 0.1 reads it names its events and marks the status that ends it", () => {
    const events = writeAll(sends, [
      task({ status: { state: TaskState.SUBMITTED } }),
      status(TaskState.WORKING),
      chunk("berth"),
      status(TaskState.COMPLETED),
    ]);
    expect(events).toEqual([
      { name: "task_status_update", json: { id: "t", status: { state: "submitted" }, final: false } },
      { name: "task_status_update", json: { id: "t", status: { state: "working" }, final: false } },
      {
        name: "task_artifact_update",
        json: {
          id: "t",
          artifact: { index: 0, append: false, lastChunk: false, parts: [{ type: "text", text: "K4" }] },
        },
      },
      { name: "task_status_update", json: { id: "t", status: { state: "completed" }, final: true } },
    ]);
  });

  it.each<[string, Operation, StreamItem[], JsonValue[]]>([
    [
      "numbers artifacts in their order",
      sends,
      [chunk("b"), chunk("a"), chunk("b", true), status(TaskState.COMPLETED)],
      ["artifact 0", "artifact 1", "artifact 0", ["completed", true]],
    ],
    [
      "numbers artifacts on from those of the task",
      sends,
      [
        task({ status: { state: TaskState.WORKING }, artifacts: [{ artifactId: "x" }, { artifactId: "y" }] }),
        chunk("z"),
        chunk("y", true),
      ],
      [["working", false], "artifact 0", "artifact 1", "artifact 2", "artifact 1", ["working", true]],
    ],
    [
      "ends with a question",
      sends,
      [task({ status: { state: TaskState.WORKING } }), status(TaskState.INPUT_REQUIRED)],
      [
        ["working", false],
        ["input-required", true],
      ],
    ],
    [
      "goes on behind a question to somebody else",
      sends,
      [status(TaskState.INPUT_REQUIRED), status(TaskState.WORKING), status(TaskState.COMPLETED)],
      [
        ["input-required", false],
        ["working", false],
        ["completed", true],
      ],
    ],
    [
      "does not ask again what the message answers",
      sends,
      [
        task({ status: { state: TaskState.INPUT_REQUIRED }, artifacts: [{ artifactId: "x" }] }),
        status(TaskState.WORKING),
        status(TaskState.FAILED),
      ],
      ["artifact 0", ["working", false], ["failed", true]],
    ],
    [
      "ends with a task that waits for permission",
      sends,
      [task({ status: { state: TaskState.WORKING } }), status(TaskState.AUTH_REQUIRED)],
      [
        ["working", false],
        ["input-required", true],
      ],
    ],
    ["says that a rejected task has failed", sends, [status(TaskState.REJECTED)], [["failed", true]]],
    [
      "tells a task that has ended with its status last",
      subscribes,
      [task({ status: { state: TaskState.COMPLETED }, artifacts: [{ artifactId: "x" }] })],
      ["artifact 0", ["completed", true]],
    ],
    [
      "ends a subscription with a question",
      subscribes,
      [status(TaskState.WORKING), status(TaskState.INPUT_REQUIRED)],
      [
        ["working", false],
        ["input-required", true],
      ],
    ],
    [
      "says the last status again when no other has ended it",
      sends,
      [task({ status: { state: TaskState.WORKING } }), chunk("x")],
      [["working", false], "artifact 0", ["working", true]],
    ],
    [
      "has one end",
      subscribes,
      [status(TaskState.COMPLETED), status(TaskState.COMPLETED)],
      [
        ["completed", true],
        ["completed", false],
      ],
    ],
    ["says nothing of nothing", sends, [], []],
  ])("a stream as a caller of 0.1 reads it %s", (_, operation, items, expected) => {
    expect(states(writeAll(operation, items))).toEqual(expected);
  });

  it("a stream as a caller of 0.1 reads it makes a direct answer the end of the task that the caller has named", () => {
    expect(writeAll(sends, [item("message", reply("K4"))])).toEqual([
      {
        name: "task_status_update",
        json: {
          id: "t",
          status: { state: "completed", message: { role: "agent", parts: [{ type: "text", text: "K4" }] } },
          final: true,
        },
      },
    ]);
  });

  it("a stream as a caller of 0.1 reads it numbers more artifacts than it remembers the text of", () => {
    const items = Array.from({ length: 70 }, (_, index) => chunk(`a${index}`));
    const events = writeAll(sends, [...items, ...items]);
    expect(states(events).slice(60, 72)).toEqual([
      ...Array.from({ length: 10 }, (_, index) => `artifact ${60 + index}`),
      "artifact 0",
      "artifact 1",
    ]);
  });

  it("the text of a 0.1 event is made once for all streams in which it is the same", () => {
    const event = chunk("x");
    const [first, second] = [1, 2].map(() => adapter.writeStream(sends, sendRequest).write(event)[0]?.payload);
    const parts = event.response.payload.value;
    if (parts?.$typeName === "lf.a2a.v1.TaskArtifactUpdateEvent") parts.lastChunk = true;
    expect(adapter.writeStream(sends, sendRequest).write(event)[0]?.payload).toBe(first);
    expect(second).toBe(first);
  });

  it("a stream as a caller of 0.1 reads it keeps the metadata of events", () => {
    const event = { ...working("going", { metadata: { step: 1 } }), taskId: "t" };
    expect(writeAll(sends, [item("statusUpdate", event)])[0]?.json).toMatchObject({ metadata: { step: 1 } });
    const update = { ...artifact("K4", { artifactId: "x" }), taskId: "t", metadata: { step: 2 } };
    expect(writeAll(sends, [item("artifactUpdate", update)])[0]?.json).toMatchObject({ metadata: { step: 2 } });
  });
});

interface Heard {
  readonly json: JsonValue;
  readonly name?: string;
}

/** Returns the items that a client reads from these events, and the number of events after which it is over. */
function readAll(operation: Operation, events: readonly Heard[]): { items: StreamItem[]; over: number | undefined } {
  const reader = adapter.readStream(operation, operation === sends ? sendRequest : subscribed);
  const items: StreamItem[] = [];
  let over: number | undefined;
  events.forEach(({ json, name }, index) => {
    const head: EventHead = name === undefined ? {} : { name, id: "7" };
    items.push(...reader.read(json, head));
    if (reader.isOver === true) over ??= index + 1;
  });
  return { items, over };
}

const writeStatus = (state: string, more: JsonObject = {}): Heard => ({
  json: { id: "t", status: { state }, ...more },
});
const cases = (items: readonly StreamItem[]): unknown[] => items.map(({ response }) => response.payload.case);

describe("a stream of an agent of 0.1", () => {
  it("a stream of an agent of 0.1 begins with a task, and has the ids that events leave out", () => {
    const { items } = readAll(sends, [
      writeStatus("working", { final: false }),
      {
        json: { id: "t", artifact: { index: 0, append: true, lastChunk: true, parts: [{ type: "text", text: "K4" }] } },
      },
    ]);
    expect(cases(items)).toEqual(["task", "statusUpdate", "artifactUpdate"]);
    for (const { response, id } of items) {
      expect(response.payload.value).toMatchObject({ contextId: "s" });
      expect(id).toBeUndefined();
    }
    expect(items[2]?.response.payload.value).toMatchObject({
      taskId: "t",
      append: true,
      lastChunk: true,
      artifact: { artifactId: "0" },
    });
  });

  it("a stream of an agent of 0.1 belongs to the task that the agent names, whatever the request named", () => {
    const { items } = readAll(sends, [{ json: { id: "other", status: { state: "working" } } }]);
    expect(items.map(({ response }) => response.payload.value)).toMatchObject([{ id: "other" }, { taskId: "other" }]);
  });

  it.each<[string, Operation, Heard[], number | undefined]>([
    ["a status that is final", sends, [writeStatus("working"), writeStatus("unknown", { final: true })], 2],
    ["a status behind which nothing can come", sends, [writeStatus("completed", { final: false })], 1],
    ["a question, which one agent does not mark", sends, [writeStatus("input-required", { final: false })], 1],
    ["not a question in a subscription", subscribes, [writeStatus("input-required", { final: false })], undefined],
    [
      "not an artifact, which one agent marks as final",
      sends,
      [{ json: { id: "t", artifact: { index: 0, parts: [], lastChunk: true }, final: true } }],
      undefined,
    ],
    ["an event named close", sends, [writeStatus("working"), { json: null, name: "close" }], 2],
    ["an event named end", sends, [writeStatus("working"), { json: {}, name: "end" }], 2],
    ["a task that has ended", sends, [writeStatus("completed", { sessionId: "s", artifacts: [] })], 1],
  ])("a stream of an agent of 0.1 ends with %s", (_, operation, events, over) => {
    expect(readAll(operation, events).over).toBe(over);
  });

  it("a stream of an agent of 0.1 may have the whole task in it", () => {
    const { items } = readAll(sends, [writeStatus("working", { sessionId: "other", history: [] })]);
    expect(items.map(({ response }) => response.payload)).toMatchObject([
      { case: "task", value: { id: "t", contextId: "other" } },
    ]);
  });

  it("a stream of an agent of 0.1 may have unknown events", () => {
    expect(readAll(sends, [{ json: { id: "t", mood: "good" } }, { json: null }]).items).toEqual([]);
  });

  it.each(["done", 5, [], { id: "t", artifact: { parts: {} } }, { id: "t", status: { message: { parts: {} } } }])(
    "a stream of an agent of 0.1 with %j fails",
    (json) => {
      expect(() => readAll(sends, [{ json }])).toThrow(expect.objectContaining({ code: "invalidAgentResponse" }));
    },
  );

  it("a stream of an agent of 0.1 is read back as written", () => {
    const written = [
      task({ status: { state: TaskState.SUBMITTED } }),
      chunk("0"),
      item("statusUpdate", { ...inputRequired("Which berth?"), taskId: "t" }),
    ];
    const events = writeAll(sends, written).map(({ name = "", json }) => ({ name, json }));
    const { items, over } = readAll(sends, events);
    expect(cases(items)).toEqual(["task", "statusUpdate", "artifactUpdate", "statusUpdate"]);
    expect(over).toBe(3);
    const again = items.slice(1).flatMap((each) => adapter.writeStream(subscribes, subscribed).write(each));
    expect(again.map(({ payload }) => JSON.parse(payload) as JsonValue)).toEqual(events.map(({ json }) => json));
  });
});

describe("the wire example of a stream", () => {
  const lines: JsonObject[] = [
    { id: "5d0c2f0e-0002", status: { state: "working" }, final: false },
    {
      id: "5d0c2f0e-0002",
      artifact: {
        index: 0,
        append: false,
        lastChunk: true,
        parts: [{ type: "file", file: { name: "plan.txt", mimeType: "text/plain", bytes: "SzQ=" } }],
      },
    },
    {
      id: "5d0c2f0e-0002",
      status: {
        state: "input-required",
        message: { role: "agent", parts: [{ type: "text", text: "Confirm K4?" }] },
      },
      final: true,
    },
  ];

  it("the 0.1 wire example of a stream is read and written back", () => {
    const { items, over } = readAll(
      sends,
      lines.map((json) => ({ json })),
    );
    expect(over).toBe(3);
    const [, ...events] = items;
    expect(writeAll(sends, events).map(({ json }) => json)).toEqual(lines);
  });

  it("the 0.1 wire example of a stream is read and written back event by event", () => {
    const codec = adapter.codec(sends);
    const request = create(GetTaskRequestSchema);
    for (const line of lines) expect(codec.writeReply(codec.readReply(line), request)).toEqual(line);
  });
});
