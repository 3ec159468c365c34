import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { A2AError, type ErrorCode, errorCodes, errorTable, invalidParams } from "../../../src/protocol/errors.js";
import { completed, reply } from "../../../src/protocol/events.js";
import { GetTaskRequestSchema, type StreamResponse, TaskSchema, TaskState } from "../../../src/protocol/model.js";
import { findOperation, type OperationName } from "../../../src/protocol/operations.js";
import { createV01 } from "../../../src/version/v0.1/v01.js";

const { jsonRpc, push } = createV01();
if (jsonRpc === undefined) throw new TypeError("version 0.1 has no JSON-RPC");
const adapter = jsonRpc;

describe("methods of 0.1", () => {
  it.each<[string, OperationName]>([
    ["tasks/send", "sendMessage"],
    ["tasks/sendSubscribe", "sendStreamingMessage"],
    ["tasks/get", "getTask"],
    ["tasks/cancel", "cancelTask"],
    ["tasks/resubscribe", "subscribeToTask"],
    ["tasks/pushNotification/set", "createTaskPushNotificationConfig"],
    ["tasks/pushNotification/get", "getTaskPushNotificationConfig"],
  ])("the method %s of 0.1 is %s, both ways", (method, name) => {
    expect(adapter.methods.get(method)?.name).toBe(name);
    expect(adapter.findMethod(findOperation(name))).toBe(method);
  });

  it.each(["listTasks", "getExtendedAgentCard"] as const)("no method of 0.1 exists for %s", (name) => {
    expect(adapter.findMethod(findOperation(name))).toBeUndefined();
    expect(() => adapter.codec(findOperation(name))).toThrow(TypeError);
  });

  it.each<[JsonValue | undefined, string | undefined]>([
    [{ id: "t" }, "t"],
    [{ id: "" }, undefined],
    [{ id: 5 }, undefined],
    [{ taskId: "t" }, undefined],
    [[], undefined],
    [undefined, undefined],
  ])("params of 0.1 %j name the task %s", (params, name) => {
    expect(adapter.taskNamedBy?.(params)).toBe(name);
  });
});

describe("errors of 0.1", () => {
  /** One client recognizes these by their text. */
  const texts = new Map<ErrorCode, string>([
    ["taskNotFound", "Task not found"],
    ["taskNotCancelable", "Task not cancelable"],
  ]);
  /** Errors without a number of their own in 0.1 become an unsupported operation and start with its text. */
  const unsupported = errorTable.unsupportedOperation.words;
  const streams = findOperation("sendStreamingMessage");
  const sends = findOperation("sendMessage");

  it.each<[ErrorCode, number]>([
    ["taskNotFound", -32001],
    ["taskNotCancelable", -32002],
    ["pushNotificationNotSupported", -32003],
    ["unsupportedOperation", -32004],
    ["contentTypeNotSupported", -32005],
    ["invalidAgentResponse", -32603],
    ["extendedAgentCardNotConfigured", -32004],
    ["extensionSupportRequired", -32004],
    ["versionNotSupported", -32600],
    ["parseError", -32700],
    ["invalidRequest", -32600],
    ["methodNotFound", -32601],
    ["invalidParams", -32602],
    ["internalError", -32603],
    ["unauthenticated", -32007],
    ["permissionDenied", -32008],
    ["resourceExhausted", -32010],
    ["unavailable", -32011],
  ])("the 0.1 error for %s is %d", (code, number) => {
    expect(adapter.writeError(new A2AError(code, "why"), sends)).toEqual({
      code: number,
      message:
        texts.get(code) ?? (number === -32004 && code !== "unsupportedOperation" ? `${unsupported}: why` : "why"),
    });
  });

  it("errors of 0.1 have a number for all that can go wrong", () => {
    for (const code of errorCodes) {
      expect(adapter.writeError(new A2AError(code, "why"), undefined)["code"]).toBeLessThan(-32000);
      const readBack = adapter.readError(adapter.writeError(new A2AError(code, "why"), undefined));
      expect(errorTable[readBack.code].jsonRpc).toBeLessThan(0);
    }
  });

  it("errors of 0.1 distinguish a missing stream and an ended task from an unsupported operation", () => {
    const unsupported = new A2AError("unsupportedOperation", "why");
    const ended = new A2AError("unsupportedOperation", "why", { metadata: { taskId: "t" } });
    expect(adapter.writeError(unsupported, streams)["code"]).toBe(-32006);
    expect(adapter.writeError(ended, streams)["code"]).toBe(-32009);
    expect(adapter.writeError(ended, sends)["code"]).toBe(-32009);
  });

  it("errors of 0.1 name fields in the words of 0.1, as far as there is room", () => {
    const fields = ["url", "token", "authentication.scheme", "taskId"];
    const error = invalidParams(...fields.map((field) => ({ field, description: "is wrong" })));
    expect(adapter.writeError(error, findOperation("createTaskPushNotificationConfig"))["message"]).toBe(
      "invalid parameters: pushNotificationConfig.url is wrong; pushNotificationConfig.token is wrong; " +
        "pushNotificationConfig.authentication.schemes[0] is wrong; 1 more",
    );
    expect(
      adapter.writeError(invalidParams({ field: "message.contextId", description: "is wrong" }), sends)["message"],
    ).toBe("invalid parameters: sessionId is wrong");
  });

  it.each<[number, ErrorCode]>([
    [-32001, "taskNotFound"],
    [-32002, "taskNotCancelable"],
    [-32003, "pushNotificationNotSupported"],
    [-32004, "unsupportedOperation"],
    [-32005, "contentTypeNotSupported"],
    [-32006, "unsupportedOperation"],
    [-32007, "unauthenticated"],
    [-32008, "permissionDenied"],
    [-32009, "unsupportedOperation"],
    [-32010, "resourceExhausted"],
    [-32011, "unavailable"],
    [-32600, "invalidRequest"],
    [-32601, "methodNotFound"],
    [-32602, "invalidParams"],
    [-32700, "parseError"],
    [-1, "internalError"],
  ])("the 0.1 error %d is read as %s", (code, expected) => {
    expect(adapter.readError({ code, message: "why", data: null })).toMatchObject({ code: expected, message: "why" });
  });

  it.each<[JsonValue | undefined, string]>([
    [undefined, "the agent answered with an error"],
    ["no", "the agent answered with an error"],
    [{ code: "x", message: 5, data: { a: 1 } }, "the agent answered with an error"],
    [{ code: -32602, message: "Invalid params", data: "id is missing" }, "Invalid params: id is missing"],
    [{ code: -32602, message: "same", data: "same" }, "same"],
  ])("the 0.1 error %j reads as %s", (json, message) => {
    expect(adapter.readError(json).message).toBe(message);
  });
});

describe("a webhook of 0.1", () => {
  const task = create(TaskSchema, { id: "t", contextId: "s", status: { state: TaskState.COMPLETED } });
  const event = { ...completed("done"), taskId: "t", contextId: "s" };
  const writePayload = (payload: StreamResponse["payload"]): JsonValue =>
    JSON.parse(push.write({ response: { $typeName: "lf.a2a.v1.StreamResponse", payload } })) as JsonValue;

  it("a webhook of 0.1 gets a task with its state and the reason for the call", () => {
    expect(push).toMatchObject({ mediaType: "application/json", delivers: "task" });
    expect(writePayload({ case: "task", value: task })).toEqual({
      eventType: "taskUpdate",
      taskId: "t",
      id: "t",
      sessionId: "s",
      status: { state: "completed" },
    });
  });

  it("a webhook of 0.1 gets an event with its task", () => {
    const about = { eventType: "taskUpdate", taskId: "t", id: "t" };
    expect(writePayload({ case: "statusUpdate", value: event })).toMatchObject({
      ...about,
      status: { state: "completed" },
    });
    const message = { ...reply("K4"), taskId: "t" };
    expect(writePayload({ case: "message", value: message })).toMatchObject({
      ...about,
      status: { state: "completed" },
    });
  });
});

describe("the wire examples of 0.1", () => {
  interface Example {
    readonly method: string;
    readonly params: JsonObject;
    readonly result?: JsonObject;
  }

  const examples: readonly Example[] = [
    {
      method: "tasks/send",
      params: {
        id: "5d0c2f0e-0001",
        sessionId: "s-1",
        message: { role: "user", parts: [{ type: "text", text: "Berth for Alba" }] },
        historyLength: 1,
        pushNotification: { url: "https://ops.example/hook", token: "tk-1" },
      },
      result: {
        id: "5d0c2f0e-0001",
        sessionId: "s-1",
        status: { state: "completed", timestamp: "2025-05-19T10:00:00.000Z" },
        artifacts: [{ name: "berth", index: 0, parts: [{ type: "data", data: { berth: "K4" } }] }],
      },
    },
    {
      method: "tasks/pushNotification/set",
      params: {
        id: "5d0c2f0e-0002",
        pushNotificationConfig: { url: "https://ops.example/hook", authentication: { schemes: ["Bearer"] } },
      },
      result: {
        id: "5d0c2f0e-0002",
        pushNotificationConfig: { url: "https://ops.example/hook", authentication: { schemes: ["Bearer"] } },
      },
    },
    { method: "tasks/resubscribe", params: { id: "5d0c2f0e-0002" } },
  ];

  it.each(examples)("the 0.1 example of $method is read and written back", ({ method, params, result }) => {
    const operation = adapter.methods.get(method);
    if (operation === undefined) throw new TypeError(`no method ${method}`);
    const codec = adapter.codec(operation);
    const request = codec.readRequest(params);
    expect(codec.writeRequest(request)).toEqual(params);
    if (result === undefined) return;
    expect(codec.writeReply(codec.readReply(result, request), create(GetTaskRequestSchema))).toEqual(result);
  });

  it("the 0.1 example of an error of authentication is read and written back", () => {
    const json = { code: -32007, message: "Authentication required" };
    const error = adapter.readError(json);
    expect(error.code).toBe("unauthenticated");
    expect(adapter.writeError(error, findOperation("subscribeToTask"))).toEqual(json);
  });
});
