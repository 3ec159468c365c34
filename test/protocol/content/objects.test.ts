import {
  type AgentCard,
  artifact,
  completed,
  fromJson,
  isMessage,
  isTask,
  type JsonObject,
  type JsonValue,
  type Message,
  type ProtocolKind,
  reply,
  type StateName,
  stateName,
  type Task,
  TaskState,
  toJson,
} from "trivium";
import { describe, expect, expectTypeOf, it } from "vitest";

const task = {
  id: "t",
  contextId: "c",
  status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-03-04T05:06:07.000Z" },
  artifacts: [{ artifactId: "1.1", parts: [{ data: { a: [1] }, mediaType: "application/json" }, { raw: "AQI=" }] }],
  history: [{ messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }], metadata: { trace: "x" } }],
};

const examples: { readonly [K in ProtocolKind]: object } = {
  AgentCard: {
    name: "Tides",
    description: "d",
    version: "1",
    supportedInterfaces: [{ url: "https://x.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: {},
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "s", name: "s", description: "d", tags: ["t"] }],
  },
  Artifact: task.artifacts[0] ?? {},
  Message: task.history[0] ?? {},
  Part: { url: "https://x.example/a", filename: "a" },
  SendMessageRequest: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] } },
  StreamResponse: { task },
  Task: task,
  TaskArtifactUpdateEvent: { taskId: "t", contextId: "c", artifact: task.artifacts[0] ?? {}, append: true },
  TaskPushNotificationConfig: { taskId: "t", id: "p", url: "https://x.example/hook" },
  TaskStatus: task.status,
  TaskStatusUpdateEvent: { taskId: "t", contextId: "c", status: task.status },
};

describe("fromJson and toJson", () => {
  it.each(Object.entries(examples) as [ProtocolKind, object][])(
    "fromJson and toJson carry a %s there and back",
    (kind, json) => {
      expect(toJson(fromJson(kind, json))).toEqual(json);
    },
  );

  it("fromJson and toJson are typed by the kind", () => {
    expectTypeOf(fromJson("Task", task)).toEqualTypeOf<Task>();
    expectTypeOf(toJson(fromJson("Task", task))).toEqualTypeOf<JsonObject>();
    expectTypeOf<JsonObject[string]>().toEqualTypeOf<JsonValue>();
    expectTypeOf(fromJson("AgentCard", examples.AgentCard)).toEqualTypeOf<AgentCard>();
  });

  it("fromJson and toJson accept a webhook body", () => {
    const { payload } = fromJson("StreamResponse", JSON.parse(JSON.stringify({ task })));
    expect(payload.case === "task" && stateName(payload.value.status?.state)).toBe("completed");
  });
});

describe("fromJson", () => {
  it.each<[string, ProtocolKind, unknown, readonly string[]]>([
    ["a missing member", "Message", { messageId: "m", role: "ROLE_USER" }, ["parts"]],
    [
      "a value of the wrong kind",
      "Task",
      { ...task, history: [{ ...task.history[0], parts: "hi" }] },
      ["history[0].parts"],
    ],
    ["an unknown state", "Task", { ...task, status: { state: "DONE" } }, ["status.state"]],
    ["several invalid fields", "Part", { filename: 1, url: 2 }, ["filename", "url"]],
    ["nothing", "TaskStatus", undefined, ["state"]],
  ])("fromJson names the path of %s", (_, kind, json, fields) => {
    expect(() => fromJson(kind, json)).toThrow(
      expect.objectContaining({
        code: "invalidParams",
        violations: fields.map((field) => expect.objectContaining({ field })),
      }),
    );
  });

  it.each([["a text"], [[task]], [5]])("fromJson refuses %j, which is no object", (json) => {
    expect(() => fromJson("Task", json)).toThrow(/must be an object, not /);
  });

  it("fromJson limits neither the lengths nor the counts of what was received", () => {
    const history = Array.from({ length: 1000 }, () => task.history[0]);
    expect(fromJson("Task", { ...task, id: "t".repeat(1000), history }).history).toHaveLength(1000);
  });

  it("fromJson limits the nesting", () => {
    const deep = JSON.parse(`{"data":${"[".repeat(100)}${"]".repeat(100)}}`);
    expect(() => fromJson("Part", deep)).toThrow(/must not be nested deeper than 64 levels/);
  });

  it("fromJson reads as the client does when it is lenient", () => {
    const { id, status } = fromJson("Task", { id: "t", status: { state: "DONE" } }, { lenient: true });
    expect([id, stateName(status?.state)]).toEqual(["t", "unspecified"]);
  });

  it.each([
    ["task", 'fromJson(): unknown kind "task": did you mean "Task"?'],
    ["toString", 'fromJson(): unknown kind "toString": use one of AgentCard, Artifact, '],
  ])("fromJson knows no kind %s", (kind, message) => {
    expect(() => fromJson(kind as ProtocolKind, {})).toThrow(message);
    expect(() => fromJson(kind as ProtocolKind, {})).toThrow(TypeError);
  });
});

it.each([[{}], [null], ["text"], [{ $typeName: "google.protobuf.Value" }]])("toJson refuses %j", (value) => {
  expect(() => toJson(value as unknown as Task)).toThrow(
    "toJson() takes an object of the protocol, such as a Task, with its $typeName",
  );
});

describe("a guard", () => {
  const done = fromJson("Task", task);

  it("a guard distinguishes a task from a message", () => {
    const answers: readonly (Task | Message)[] = [done, reply("hi")];
    expect(answers.map(isTask)).toEqual([true, false]);
    expect(answers.map(isMessage)).toEqual([false, true]);
  });

  it("a guard narrows the type", () => {
    const answer: Task | Message = done as Task | Message;
    if (isTask(answer)) expectTypeOf(answer).toEqualTypeOf<Task>();
    else expectTypeOf(answer).toEqualTypeOf<Message>();
  });

  it.each([[undefined], [null], ["lf.a2a.v1.Task"], [{}], [completed()], [artifact("x")]])(
    "a guard knows %j",
    (value) => {
      expect([isTask(value), isMessage(value)]).toEqual([false, false]);
    },
  );
});

it("stateName names every state", () => {
  const states = Object.values(TaskState).filter((state) => typeof state === "number");
  expect(states.map((state) => stateName(state))).toEqual<StateName[]>([
    "unspecified",
    "submitted",
    "working",
    "completed",
    "failed",
    "canceled",
    "input-required",
    "rejected",
    "auth-required",
  ]);
  expect([stateName(undefined), stateName(99 as TaskState)]).toEqual(["unspecified", "unspecified"]);
});
