import { equals, fromBinary, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import {
  AgentCardSchema,
  ListTasksRequestSchema,
  PartSchema,
  SendMessageRequestSchema,
  TaskStatusSchema,
} from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { decodeOptions } from "../../../../src/binding/grpc/method.js";
import { readJson } from "../../../../src/protocol/codec/json/reader.js";
import { writeJson } from "../../../../src/protocol/codec/json/writer.js";

const states =
  "must be one of TASK_STATE_SUBMITTED, TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_FAILED, TASK_STATE_CANCELED, TASK_STATE_INPUT_REQUIRED, TASK_STATE_REJECTED, TASK_STATE_AUTH_REQUIRED";

describe("a bad member", () => {
  it.each<[JsonValue, string, string]>([
    [[], "", "must be an object, not an array"],
    ["x", "", "must be an object, not a string"],
    [{ message: "hi" }, "message", "must be an object, not a string"],
    [{ message: { messageId: 7 } }, "message.messageId", "must be a string, not a number"],
    [{ message: { messageId: "a\ud800" } }, "message.messageId", "must be well-formed Unicode"],
    [{ message: { parts: {} } }, "message.parts", "must be an array, not an object"],
    [{ message: { parts: [{ text: "a" }, null] } }, "message.parts[1]", "must be an object, not null"],
    [{ message: { parts: [{ text: true }] } }, "message.parts[0].text", "must be a string, not a boolean"],
    [{ message: { parts: [{ raw: "a*b=" }] } }, "message.parts[0].raw", "must be base64"],
    [{ message: { parts: [{ raw: 1 }] } }, "message.parts[0].raw", "must be a base64 string, not a number"],
    [
      { message: { parts: [{ text: "a", url: "https://x.example" }] } },
      "message.parts[0].url",
      "excludes text: only one of them may be set",
    ],
    [{ message: { role: "user" } }, "message.role", "must be one of ROLE_USER, ROLE_AGENT"],
    [{ message: { role: 9 } }, "message.role", "must be one of ROLE_USER, ROLE_AGENT"],
    [{ message: { role: [] } }, "message.role", "must be a string, not an array"],
    [{ message: { metadata: [1] } }, "message.metadata", "must be an object, not an array"],
    [{ message: { metadata: { a: ["\udfff"] } } }, "message.metadata.a[0]", "must be well-formed Unicode"],
    [{ message: { metadata: { "\ud800": 1 } } }, "message.metadata.\ud800", "must be well-formed Unicode"],
    [JSON.parse('{"metadata":{"a":{"__proto__":{"x":1}}}}'), "metadata.a.__proto__", "must not be used as a name"],
    [
      JSON.parse('{"message":{"parts":[{"data":{"__proto__":1}}]}}'),
      "message.parts[0].data.__proto__",
      "must not be used as a name",
    ],
    [JSON.parse('{"metadata":{"a":1e999}}'), "metadata.a", "must be a finite number"],
    [JSON.parse('{"message":{"parts":[{"data":[-1e999]}]}}'), "message.parts[0].data[0]", "must be a finite number"],
    [{ message: { extensions: ["a", 1] } }, "message.extensions[1]", "must be a string, not a number"],
    [{ configuration: { historyLength: 1.5 } }, "configuration.historyLength", "must be an integer of 32 bits"],
    [{ configuration: { historyLength: 2 ** 31 } }, "configuration.historyLength", "must be an integer of 32 bits"],
    [{ configuration: { historyLength: "ten" } }, "configuration.historyLength", "must be an integer of 32 bits"],
    [{ configuration: { historyLength: true } }, "configuration.historyLength", "must be an integer, not a boolean"],
    [
      { configuration: { returnImmediately: "true" } },
      "configuration.returnImmediately",
      "must be true or false, not a string",
    ],
    [{ message: { messageId: "a", message_id: "b" } }, "message.messageId", "is also given as message_id"],
  ])("the bad member of %j is named: %s %s", (json, field, description) => {
    expect(readJson(SendMessageRequestSchema, json).violations).toEqual([{ field, description }]);
  });

  // Requirements: V1-ERR-8
  it.each<[JsonValue, string]>([
    ["TASK_STATE_RUNNING", states],
    [99, states],
  ])("the error for the unknown state %j lists the states", (status, description) => {
    expect(readJson(ListTasksRequestSchema, { status }).violations).toEqual([{ field: "status", description }]);
  });

  it.each<[JsonValue, string]>([
    ["yesterday", "must be an ISO 8601 time such as 2026-03-04T05:06:07.000Z"],
    [1777709730, "must be an ISO 8601 time, not a number"],
  ])("the error for the time %j describes the expected format", (statusTimestampAfter, description) => {
    const { violations } = readJson(ListTasksRequestSchema, { statusTimestampAfter });
    expect(violations).toEqual([{ field: "statusTimestampAfter", description }]);
  });

  it("a bad member does not hide the others", () => {
    const { violations } = readJson(SendMessageRequestSchema, {
      tenant: 1,
      message: { role: "x", parts: [{ text: 1 }, 2] },
    });
    expect(violations.map(({ field }) => field)).toEqual([
      "tenant",
      "message.role",
      "message.parts[0].text",
      "message.parts[1]",
    ]);
  });

  it("bad members are named up to twenty", () => {
    const parts = Array.from({ length: 1000 }, () => 1);
    expect(readJson(SendMessageRequestSchema, { message: { parts } }).violations).toHaveLength(20);
  });

  it("a bad member is cut in the message when its name is long", () => {
    const [violation] = readJson(SendMessageRequestSchema, { metadata: { ["k".repeat(5000)]: "\ud800" } }).violations;
    expect(violation?.field).toBe(`metadata.${"k".repeat(64)}…`);
  });
});

describe("valid input is read", () => {
  it.each<[JsonValue, JsonValue]>([
    [
      { page_size: 3, context_id: "c" },
      { pageSize: 3, contextId: "c" },
    ],
    [
      { pageSize: "12", historyLength: "1e1" },
      { pageSize: 12, historyLength: 10 },
    ],
    [{ status: 2 }, { status: "TASK_STATE_WORKING" }],
    [{ status: "TASK_STATE_WORKING", mood: { deep: [1] } }, { status: "TASK_STATE_WORKING" }],
    [{ status: null, pageSize: null, tenant: null, statusTimestampAfter: null }, {}],
    [{ includeArtifacts: false }, { includeArtifacts: false }],
    [{ statusTimestampAfter: "2026-03-04T07:06:07.1+02:00" }, { statusTimestampAfter: "2026-03-04T05:06:07.100Z" }],
  ])("the input %j is read as %j", (json, expected) => {
    const { message, violations } = readJson(ListTasksRequestSchema, json);
    expect(violations).toEqual([]);
    expect(writeJson(ListTasksRequestSchema, message)).toEqual(expected);
  });

  it.each<[string, string]>([
    ["aGVsbG8=", "aGVsbG8="],
    ["aGVsbG8", "aGVsbG8="],
    ["_-8", "/+8="],
    ["", ""],
  ])("the bytes %j are read as %j", (raw, expected) => {
    const { message, violations } = readJson(PartSchema, { raw });
    expect(violations).toEqual([]);
    expect(writeJson(PartSchema, message)).toEqual({ raw: expected });
  });

  it.each<[JsonValue]>([[null], [7], ["x"], [false], [[1, "x", null, { a: {} }]], [{}]])(
    "the data %j is read",
    (data) => {
      const { message } = readJson(PartSchema, { data });
      expect(equals(PartSchema, fromBinary(PartSchema, toBinary(PartSchema, message)), message)).toBe(true);
      expect(writeJson(PartSchema, message)).toEqual({ data });
    },
  );

  it("free JSON stays the object that it was", () => {
    const metadata = { a: { constructor: null, toString: [null] } };
    expect(readJson(PartSchema, { metadata }).message.metadata).toBe(metadata);
  });
});

describe("depth", () => {
  const nested = (levels: number): JsonValue => (levels === 0 ? 1 : { a: nested(levels - 1) });

  // Requirements: V1-EXT-10
  it.each(["metadata", "data"])("the depth of %s is counted from the outermost object", (name) => {
    expect(readJson(PartSchema, { [name]: nested(63) }).violations).toEqual([]);
    const [violation] = readJson(PartSchema, { [name]: nested(64) }).violations;
    expect(violation?.description).toBe("must not be nested deeper than 64 levels");
  });

  it("the depth of JSON can be limited further", () => {
    expect(readJson(PartSchema, { data: [[1]] }, { maxDepth: 3 }).violations).toEqual([]);
    expect(readJson(PartSchema, { data: [[[1]]] }, { maxDepth: 3 }).violations).toHaveLength(1);
  });

  it("the depth of JSON is the same in binary", () => {
    const { message } = readJson(SendMessageRequestSchema, { metadata: nested(63) });
    expect(fromBinary(SendMessageRequestSchema, toBinary(SendMessageRequestSchema, message), decodeOptions)).toEqual(
      message,
    );
  });

  it("the depth of a member that is ignored does not matter", () => {
    expect(readJson(PartSchema, { text: "x", other: nested(500) }).violations).toEqual([]);
  });
});

// Requirements: V1-EXT-10, V1-SEC-24
it("the JSON reader never touches a prototype", () => {
  const json = JSON.parse(
    '{"__proto__":{"polluted":1},"name":"n","securitySchemes":{"__proto__":{"mtlsSecurityScheme":{}}}}',
  );
  const { message, violations } = readJson(AgentCardSchema, json);
  expect(violations).toEqual([{ field: "securitySchemes.__proto__", description: "must not be used as a name" }]);
  expect(Object.getPrototypeOf(message.securitySchemes)).toBe(Object.prototype);
  expect(Reflect.get({}, "polluted")).toBeUndefined();
});

it("the JSON reader reads replies leniently: unknown enum words are unspecified, broken text is repaired", () => {
  const json = { state: "TASK_STATE_PAUSED", message: { messageId: "a\ud800", metadata: { k: "\ud800" } } };
  const { message, violations } = readJson(TaskStatusSchema, json, { lenient: true });
  expect(violations).toEqual([]);
  expect(message).toMatchObject({ state: 0, message: { messageId: "a\ufffd" } });
  expect(() => toBinary(TaskStatusSchema, message)).not.toThrow();
});
