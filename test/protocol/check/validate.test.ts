// biome-ignore-all format: one case a line
import { create, fromBinary, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { MessageSchema, PartSchema, SendMessageRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { validate } from "../../../src/protocol/check/validate.js";
import { readJson } from "../../../src/protocol/codec/json/reader.js";
import { A2AError, type FieldViolation } from "../../../src/protocol/errors.js";
import { findOperation, type OperationName } from "../../../src/protocol/operations.js";
import { defaultValidationLimits } from "../../../src/protocol/validation-limits.js";
import { v1 } from "../../../src/version/v1.0/v1.js";

const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }] };
const long = (length: number) => "x".repeat(length);
const { idMaxLength, uriMaxLength, mediaTypeMaxLength, nameMaxLength, tokenMaxLength, partsMax, entriesMax } =
  defaultValidationLimits;

// Requests with one violation each, and its description.
const cases: readonly (readonly [OperationName, JsonObject, string, string])[] = [
  ["sendMessage", {}, "message", "is required"],
  ["sendMessage", { message: { ...message, messageId: "" } }, "message.messageId", "is required"],
  ["sendMessage", { message: { ...message, role: 0 } }, "message.role", "is required: one of ROLE_USER, ROLE_AGENT"],
  ["sendMessage", { message: { ...message, role: "ROLE_AGENT" } }, "message.role", "must be ROLE_USER in a request"],
  ["sendMessage", { message: { ...message, parts: [] } }, "message.parts", "needs at least one entry"],
  ["sendMessage", { message: { ...message, parts: [{ metadata: {} }] } }, "message.parts[0]", "needs one of text, raw, url, data"],
  ["sendMessage", { message: { ...message, messageId: long(idMaxLength + 1) } }, "message.messageId", "must not be longer than 256 characters"],
  ["sendMessage", { tenant: long(idMaxLength + 1), message }, "tenant", "must not be longer than 256 characters"],
  ["sendMessage", { message: { ...message, referenceTaskIds: ["a", long(idMaxLength + 1)] } }, "message.referenceTaskIds[1]", "must not be longer than 256 characters"],
  ["sendMessage", { message: { ...message, extensions: [long(uriMaxLength + 1)] } }, "message.extensions[0]", "must not be longer than 4096 characters"],
  ["sendMessage", { message: { ...message, extensions: Array(entriesMax + 1).fill("u") } }, "message.extensions", "must not have more than 128 entries"],
  ["sendMessage", { message: { ...message, parts: Array(partsMax + 1).fill({ text: "x" }) } }, "message.parts", "must not have more than 256 entries"],
  ["sendMessage", { message: { ...message, parts: [{ text: "x", mediaType: long(mediaTypeMaxLength + 1) }] } }, "message.parts[0].mediaType", "must not be longer than 256 characters"],
  ["sendMessage", { message: { ...message, parts: [{ text: "x", filename: long(nameMaxLength + 1) }] } }, "message.parts[0].filename", "must not be longer than 1024 characters"],
  ["sendMessage", { message, configuration: { historyLength: -5 } }, "configuration.historyLength", "must be 0 or more"],
  ["sendMessage", { message, configuration: { taskPushNotificationConfig: {} } }, "configuration.taskPushNotificationConfig.url", "is required"],
  ["getTask", {}, "id", "is required"],
  ["getTask", { id: "t", historyLength: -1 }, "historyLength", "must be 0 or more"],
  ["listTasks", { pageSize: -1 }, "pageSize", "must be 1 to 100"],
  ["listTasks", { pageSize: 150 }, "pageSize", "must be 1 to 100"],
  ["listTasks", { historyLength: -1 }, "historyLength", "must be 0 or more"],
  ["listTasks", { pageToken: long(tokenMaxLength + 1) }, "pageToken", "must not be longer than 4096 characters"],
  ["cancelTask", {}, "id", "is required"],
  ["subscribeToTask", { id: "" }, "id", "is required"],
  ["createTaskPushNotificationConfig", { url: "https://x.example" }, "taskId", "is required"],
  ["createTaskPushNotificationConfig", { taskId: "t" }, "url", "is required"],
  ["createTaskPushNotificationConfig", { taskId: "t", url: long(uriMaxLength + 1) }, "url", "must not be longer than 4096 characters"],
  ["createTaskPushNotificationConfig", { taskId: "t", url: "u", token: "a\r\nb" }, "token", "must be printable ASCII: it is sent as a header"],
  ["createTaskPushNotificationConfig", { taskId: "t", url: "u", authentication: { credentials: "x" } }, "authentication.scheme", "is required"],
  ["createTaskPushNotificationConfig", { taskId: "t", url: "u", authentication: { scheme: "Bearer", credentials: "a\nb" } }, "authentication.credentials", "must be printable ASCII: it is sent as a header"],
  ["getTaskPushNotificationConfig", { taskId: "t" }, "id", "is required"],
  ["deleteTaskPushNotificationConfig", { id: "p" }, "taskId", "is required"],
  ["listTaskPushNotificationConfigs", { taskId: "t", pageSize: -1 }, "pageSize", "must be 0 or more"],
];

describe.each(cases)("%s with %j", (name, json, field, description) => {
  const operation = findOperation(name);

  // Requirements: V1-PRES-2, V1-SEC-23
  it(`a bad request is refused over JSON: ${field} ${description}`, () => {
    expect(violationsOf(() => v1.jsonRpc?.codec(operation).readRequest(json))).toEqual([{ field, description }]);
  });

  it(`a bad request is refused over gRPC: ${field} ${description}`, () => {
    const { input } = operation;
    const wire = fromBinary(input, toBinary(input, readJson(input, json).message));
    expect(violationsOf(() => v1.grpc?.readRequest(operation, wire))).toEqual([{ field, description }]);
  });
});

it("a page of no size is refused in JSON, and in protobuf is a size that was not given", () => {
  const operation = findOperation("listTasks");
  const violation = { field: "pageSize", description: "must be 1 to 100" };
  const json = { pageSize: 0 };
  expect(violationsOf(() => v1.jsonRpc?.codec(operation).readRequest(json))).toEqual([violation]);
  const { input } = operation;
  const wire = fromBinary(input, toBinary(input, readJson(input, json).message));
  expect(v1.grpc?.readRequest(operation, wire)).toEqual(create(input));
});

describe("a value at a limit is accepted", () => {
  it.each<[OperationName, JsonObject]>([
    ["sendMessage", { message: { ...message, messageId: long(idMaxLength), parts: Array(partsMax).fill({ text: "" }) } }],
    ["sendMessage", { message: { ...message, parts: [{ url: `data:,${long(100_000)}` }] } }],
    ["listTasks", { pageSize: 1, historyLength: 0 }],
    ["listTasks", { pageSize: 100 }],
    ["listTaskPushNotificationConfigs", { taskId: "t", pageSize: 0 }],
    ["getExtendedAgentCard", {}],
  ])("a value at a limit is accepted: %s", (name, json) => {
    expect(violationsOf(() => v1.jsonRpc?.codec(findOperation(name)).readRequest(json))).toEqual([]);
  });
});

describe("free JSON that came in binary", () => {
  const nested = (levels: number): JsonValue => (levels === 0 ? 1 : { a: nested(levels - 1) });
  const part = (init: object) => ({ ...create(PartSchema, { content: { case: "text", value: "x" } }), ...init });
  const data = (json: JsonValue) => ({ content: readJson(PartSchema, { data: json }, { maxDepth: 500 }).message.content });

  it.each([
    ["a name of the prototype", { metadata: JSON.parse('{"__proto__":1}') }, "metadata.__proto__"],
    ["a number without JSON form", { metadata: { n: Number.NaN } }, "metadata.n"],
    ["a lone surrogate", { metadata: { s: ["\ud800"] } }, "metadata.s[0]"],
    ["nesting without end", { metadata: nested(100) }, `metadata${".a".repeat(63)}`],
    ["nesting without end in data", data(nested(100)), `data${".a".repeat(63)}`],
    ["a value without value", { content: { case: "data", value: { $typeName: "google.protobuf.Value", kind: {} } } }, "data"],
  ])("free JSON that came in binary is refused: %s", (_, init, field) => {
    expect(validate(PartSchema, part(init)).map((violation) => violation.field)).toEqual([field]);
  });

  it("free JSON that came in binary is accepted when it is valid", () => {
    expect(validate(PartSchema, part({ ...data({ a: [1, "x", null, true] }), metadata: { n: -1.5 } }))).toEqual([]);
  });
});

it.each([58, 59, 60, 61])("a request over gRPC takes %d levels of data when it does over JSON", (levels) => {
  let data: JsonValue = 1;
  for (let level = 0; level < levels; level++) data = [data];
  const request = { message: { ...message, parts: [{ data }] } };
  const operation = findOperation("sendMessage");
  const wire = readJson(operation.input, request, { maxDepth: 100 }).message;
  const overJson = violationsOf(() => v1.jsonRpc?.codec(operation).readRequest(request));
  expect(overJson).toHaveLength(levels > 60 ? 1 : 0);
  expect(violationsOf(() => v1.grpc?.readRequest(operation, wire))).toEqual(overJson);
});

it("a number that is no state, and a time out of range, are refused", () => {
  const list = findOperation("listTasks");
  const request = create(list.input, { status: 99, statusTimestampAfter: { seconds: 10n ** 15n } } as never);
  expect(violationsOf(() => v1.grpc?.readRequest(list, request)).map(({ field }) => field)).toEqual([
    "status",
    "statusTimestampAfter",
  ]);
});

it("a field is named once when both reading and validating find it wrong, and everything else beside it", () => {
  const json = { message: { role: "ROLE_KING", parts: [7, {}], taskId: long(300) } };
  const violations = violationsOf(() => v1.jsonRpc?.codec(findOperation("sendMessage")).readRequest(json));
  expect(violations.map(({ field }) => field).toSorted()).toEqual([
    "message.messageId",
    "message.parts[0]",
    "message.parts[1]",
    "message.role",
    "message.taskId",
  ]);
});

it("no missing members are reported inside a field that is not an object", () => {
  const violations = violationsOf(() => v1.jsonRpc?.codec(findOperation("sendMessage")).readRequest({ message: "hi" }));
  expect(violations).toEqual([{ field: "message", description: "must be an object, not a string" }]);
});

it("validation accepts custom limits", () => {
  const request = create(SendMessageRequestSchema, { message: { messageId: "long", role: 1, parts: [{ content: { case: "text", value: "x" } }] } });
  expect(validate(SendMessageRequestSchema, request)).toEqual([]);
  expect(validate(SendMessageRequestSchema, request, { ...defaultValidationLimits, idMaxLength: 3 })).toHaveLength(1);
});

it("an agent's message may have what a caller must not send", () => {
  const reply = readJson(MessageSchema, { ...message, role: "ROLE_AGENT" }).message;
  expect(validate(MessageSchema, reply)).toEqual([]);
});

function violationsOf(read: () => unknown): readonly FieldViolation[] {
  try {
    read();
  } catch (error) {
    if (error instanceof A2AError && error.code === "invalidParams") return error.violations;
    throw error;
  }
  return [];
}
