import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameMessage } from "../../../../src/protocol/check/same-message.js";
import { valueFromJson } from "../../../../src/protocol/codec/json/struct.js";
import {
  GetTaskRequestSchema,
  type Part,
  PartSchema,
  Role,
  SendMessageRequestSchema,
  StreamResponseSchema,
  TaskPushNotificationConfigSchema,
  TaskState,
} from "../../../../src/protocol/model.js";
import { findOperation, type OperationName, operations, type ReplyOf } from "../../../../src/protocol/operations.js";
import { defaultValidationLimits } from "../../../../src/protocol/validation-limits.js";
import { kindJsonCodecs } from "../../../../src/version/v0.3/json/codec.js";
import { kindJsonStreamReader, kindJsonStreamWriter } from "../../../../src/version/v0.3/json/stream.js";
import { arbitraryKindEvent, arbitraryKindMessage, arbitraryKindTask } from "../arbitrary-kind-json.js";
import { arbitraryCarried } from "../carried.js";

const codecs = kindJsonCodecs(defaultValidationLimits);
const codecOf = (name: OperationName) => codecs(findOperation(name));
const overTheWire = (json: unknown): JsonValue | undefined =>
  json === undefined ? undefined : (JSON.parse(JSON.stringify(json)) as JsonValue);

const named = operations.map(({ name }) => name).filter((name) => name !== "listTasks");

describe("requests", () => {
  it.each(named)("kind-JSON requests of %s survive the round trip", (name) => {
    const { input } = findOperation(name);
    fc.assert(
      fc.property(arbitraryCarried(input, true), (request) => {
        const codec = codecOf(name);
        const read = codec.readRequest(overTheWire(codec.writeRequest(request)));
        expect(isSameMessage(read, request), JSON.stringify(codec.writeRequest(request))).toBe(true);
      }),
    );
  });
});

describe("replies", () => {
  it.each([
    "getTask",
    "cancelTask",
    "createTaskPushNotificationConfig",
    "getTaskPushNotificationConfig",
    "deleteTaskPushNotificationConfig",
  ] as const)("kind-JSON replies of %s survive the round trip", (name) => {
    const { output } = findOperation(name);
    fc.assert(
      fc.property(arbitraryCarried(output), (reply) => {
        const codec = codecOf(name);
        const read = codec.readReply(overTheWire(codec.writeReply(reply, reply)));
        expect(isSameMessage(read, reply), JSON.stringify(codec.writeReply(reply, reply))).toBe(true);
      }),
    );
  });

  it("kind-JSON replies of a send survive the round trip", () => {
    const codec = codecOf("sendMessage");
    fc.assert(
      fc.property(arbitraryCarried(findOperation("sendMessage").output), (reply) => {
        fc.pre((reply as ReplyOf<"sendMessage">).payload.case !== undefined);
        expect(isSameMessage(codec.readReply(overTheWire(codec.writeReply(reply, reply))), reply)).toBe(true);
      }),
    );
  });

  it("kind-JSON replies list configurations as a bare array of all of them", () => {
    const codec = codecOf("listTaskPushNotificationConfigs");
    fc.assert(
      fc.property(fc.array(arbitraryCarried(TaskPushNotificationConfigSchema), { maxLength: 3 }), (configs) => {
        const { output } = findOperation("listTaskPushNotificationConfigs");
        const reply = create(output, { configs });
        const json = codec.writeReply(reply, reply);
        expect(json).toHaveLength(configs.length);
        expect(isSameMessage(codec.readReply(overTheWire(json)), reply)).toBe(true);
      }),
    );
  });
});

it("the kind-JSON codec reads every event as it was written", () => {
  const operation = findOperation("subscribeToTask");
  fc.assert(
    fc.property(arbitraryCarried(StreamResponseSchema), (response) => {
      fc.pre(response.payload.case !== undefined);
      const [event] = kindJsonStreamWriter(operation, response).write({ response, id: "t.i.1" });
      const [item] = kindJsonStreamReader(operation).read(JSON.parse(event?.payload ?? "null"), { id: event?.id });
      expect(item?.id).toBe("t.i.1");
      expect(isSameMessage(item?.response ?? response, response) && item !== undefined, event?.payload).toBe(true);
    }),
  );
});

describe("what a peer writes", () => {
  // Requirements: V03-TASK-6, IOP-8
  it("a task that a peer writes survives the round trip of kind-JSON", () => {
    const codec = codecOf("getTask");
    fc.assert(
      fc.property(arbitraryKindTask, (task) => {
        const read = codec.readReply(overTheWire(task));
        expect(codec.writeReply(read, read)).toEqual(task);
      }),
    );
  });

  it("a message that a caller writes survives the round trip of kind-JSON", () => {
    const codec = codecOf("sendMessage");
    fc.assert(
      fc.property(arbitraryKindMessage("user"), fc.boolean(), (message, blocking) => {
        const params = { message, configuration: { acceptedOutputModes: ["text/plain"], blocking, historyLength: 0 } };
        expect(codec.writeRequest(codec.readRequest(overTheWire(params)))).toEqual(params);
      }),
    );
  });

  it("an event that a peer writes survives the round trip of kind-JSON, except for `final`", () => {
    const operation = findOperation("subscribeToTask");
    fc.assert(
      fc.property(arbitraryKindEvent, ({ final, ...event }) => {
        const [item] = kindJsonStreamReader(operation).read(final === undefined ? event : { ...event, final });
        if (item === undefined) throw new Error("the event was passed over");
        const [written] = kindJsonStreamWriter(operation, item.response).write(item);
        const { final: _, ...json } = JSON.parse(written?.payload ?? "null") as JsonObject;
        expect(json).toEqual(event);
      }),
    );
  });
});

describe("what kind-JSON has no place for", () => {
  const throughSend = (part: Part): Part | undefined => {
    const codec = codecOf("sendMessage");
    const message = { messageId: "m", role: Role.USER, parts: [part] };
    const request = create(SendMessageRequestSchema, { message });
    const read = codec.readRequest(overTheWire(codec.writeRequest(request)));
    return isSend(read) ? read.message?.parts[0] : undefined;
  };
  const isSend = (message: unknown): message is ReturnType<typeof create<typeof SendMessageRequestSchema>> =>
    (message as { $typeName?: string }).$typeName === SendMessageRequestSchema.typeName;

  it.each([
    { case: "text", value: "hi" },
    { case: "data", value: valueFromJson({ a: 1 }, { maxDepth: 9, lenient: false, violations: [] }, 1) },
  ] as const)("the media type and name of a $case part, which kind-JSON has no place for, are lost", (content) => {
    const part = create(PartSchema, { content, mediaType: "text/x", filename: "x.txt" });
    expect(throughSend(part)).toEqual({ ...part, mediaType: "", filename: "" });
  });

  // Requirements: V03-MSG-4, IOP-11
  it.each([7, "text", true, null, [1, [null]]])(
    "data that is no object is wrapped in kind-JSON under a flag and unwrapped again: %j",
    (json) => {
      const value = valueFromJson(json, { maxDepth: 9, lenient: false, violations: [] }, 1);
      const part = create(PartSchema, { content: { case: "data", value }, metadata: { own: 1 } });
      expect(codecOf("sendMessage").writeRequest(sendOf(part))).toMatchObject({
        message: { parts: [{ kind: "data", data: { value: json }, metadata: { own: 1, data_part_compat: true } }] },
      });
      expect(throughSend(part)).toEqual(part);
    },
  );

  it("the tenant, which kind-JSON has no place for, is lost", () => {
    const codec = codecOf("getTask");
    const request = create(GetTaskRequestSchema, { tenant: "north", id: "t" });
    expect(codec.writeRequest(request)).toEqual({ id: "t" });
  });

  it("whether there was an empty configuration is lost in kind-JSON", () => {
    const written = codecOf("sendMessage").writeRequest(sendOf(create(PartSchema)));
    expect(written).toMatchObject({ configuration: { blocking: true, acceptedOutputModes: [] } });
  });

  it("the list of tasks, which kind-JSON has no place for, is refused without a call", () => {
    const codec = codecOf("listTasks");
    const unsupported = expect.objectContaining({ code: "unsupportedOperation" });
    expect(() => codec.writeRequest(create(findOperation("listTasks").input))).toThrow(unsupported);
    expect(() => codec.readRequest({})).toThrow(unsupported);
  });

  const sendOf = (part: Part) =>
    create(SendMessageRequestSchema, { message: { messageId: "m", role: Role.USER, parts: [part] } });
});

describe("what the model has no place for", () => {
  it("authentication schemes of kind-JSON after the first, which the model has no place for, are lost", () => {
    const codec = codecOf("createTaskPushNotificationConfig");
    const authentication = { schemes: ["Bearer", "Basic"], credentials: "s" };
    const params = { taskId: "t", pushNotificationConfig: { url: "https://h", authentication } };
    expect(codec.writeRequest(codec.readRequest(params))).toEqual({
      taskId: "t",
      pushNotificationConfig: { url: "https://h", authentication: { schemes: ["Bearer"], credentials: "s" } },
    });
  });

  it.each([
    ["getTask", { id: "t" }],
    ["subscribeToTask", { id: "t" }],
    ["getTaskPushNotificationConfig", { id: "t", pushNotificationConfigId: "c" }],
    ["listTaskPushNotificationConfigs", { id: "t" }],
    ["deleteTaskPushNotificationConfig", { id: "t", pushNotificationConfigId: "c" }],
  ] as const)("the kind-JSON metadata of %s, which the model has no place for, is lost", (name, params) => {
    const codec = codecOf(name);
    expect(codec.writeRequest(codec.readRequest({ ...params, metadata: { why: "so" } }))).toEqual(params);
  });

  // Requirements: V03-TASK-2
  it("a kind-JSON state that the model has no word for is unknown", () => {
    const task = codecOf("getTask").readReply({ kind: "task", id: "t", contextId: "c", status: { state: "paused" } });
    expect(task).toMatchObject({ status: { state: TaskState.UNSPECIFIED } });
    expect(codecOf("getTask").writeReply(task, task)).toMatchObject({ status: { state: "unknown" } });
  });
});
