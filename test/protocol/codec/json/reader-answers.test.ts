import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { SendMessageRequestSchema, TaskSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { readJson } from "../../../../src/protocol/codec/json/reader.js";
import { readAnswer } from "../../../../src/protocol/codec/json/reading.js";
import { writeJson } from "../../../../src/protocol/codec/json/writer.js";

const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_WORKING" } };

function readTask(json: JsonValue) {
  const { message, violations } = readJson(TaskSchema, json, { lenient: true });
  return { json: writeJson(TaskSchema, message) as JsonObject, violations };
}

function withArtifact(artifact: JsonObject): JsonObject {
  return { ...task, artifacts: [{ artifactId: "a", parts: [{ text: "x" }], ...artifact }] };
}

const whole = withArtifact({});

describe("an answer keeps its content", () => {
  it.each<[what: string, json: JsonObject, read: JsonObject]>([
    ["metadata is a list", { ...task, metadata: [1] }, task],
    ["metadata is a text", { ...task, metadata: "none" }, task],
    ["metadata holds a name that is not allowed", { ...task, metadata: JSON.parse('{"__proto__":{}}') }, task],
    ["a time is no time", { ...task, status: { ...task.status, timestamp: "yesterday" } }, task],
    ["a time is a number", { ...task, status: { ...task.status, timestamp: 1767322984 } }, task],
    ["a name is a number", withArtifact({ name: 7 }), whole],
    ["a description is a list", withArtifact({ description: [] }), whole],
    [
      "a file name and a media type are no texts",
      withArtifact({ parts: [{ text: "x", filename: 1, mediaType: {} }] }),
      whole,
    ],
    [
      "other kinds of content are null",
      withArtifact({ parts: [{ text: "x", raw: null, url: null, data: null }] }),
      whole,
    ],
    ["null comes before the content", withArtifact({ parts: [{ data: null, text: "x" }] }), whole],
    ["lists are null", { ...whole, history: null, metadata: null }, whole],
  ])("an answer keeps its content when %s", (_, json, read) => {
    expect(readTask(json)).toEqual({ json: read, violations: [] });
  });

  it("an answer with null has null as data where nothing else is given", () => {
    const json = withArtifact({ parts: [{ data: null }] });
    expect(readTask(json)).toEqual({ json, violations: [] });
  });

  it.each([
    ["2026-01-02T03:04:05.678901", "2026-01-02T03:04:05.678901Z"],
    ["2026-01-02 03:04:05", "2026-01-02T03:04:05.000Z"],
    ["2026-01-02T03:04:05+0200", "2026-01-02T01:04:05.000Z"],
  ])("the time %s of an answer is read as %s", (given, timestamp) => {
    const { json, violations } = readTask({ ...task, status: { ...task.status, timestamp: given } });
    expect([json["status"], violations]).toEqual([{ ...task.status, timestamp }, []]);
  });

  it.each<[given: JsonValue, state: string]>([
    ["task_state_completed", "TASK_STATE_COMPLETED"],
    ["Completed", "TASK_STATE_COMPLETED"],
    ["input-required", "TASK_STATE_INPUT_REQUIRED"],
    ["AUTH REQUIRED", "TASK_STATE_AUTH_REQUIRED"],
    ["TASK_STATE_CANCELLED", "TASK_STATE_CANCELED"],
    ["cancelled", "TASK_STATE_CANCELED"],
    [3, "TASK_STATE_COMPLETED"],
    ["3", "TASK_STATE_COMPLETED"],
    ["paused", "TASK_STATE_UNSPECIFIED"],
    ["unknown", "TASK_STATE_UNSPECIFIED"],
    [99, "TASK_STATE_UNSPECIFIED"],
    ["99", "TASK_STATE_UNSPECIFIED"],
    [true, "TASK_STATE_UNSPECIFIED"],
    [{}, "TASK_STATE_UNSPECIFIED"],
    [null, "TASK_STATE_UNSPECIFIED"],
  ])("the state %j of an answer is read as %s", (given, state) => {
    const { json, violations } = readTask({ ...task, status: { state: given } });
    expect([json["status"], violations]).toEqual([{ state }, []]);
  });

  it.each(["aGVs\nbG8=", "aGVs bG8=\r\n", "aGVsbG8", "aGVsbG8="])(
    "the base64 %j of an answer is read, also of a request",
    (raw) => {
      const { json } = readTask(withArtifact({ parts: [{ raw }] }));
      expect(json).toEqual(withArtifact({ parts: [{ raw: "aGVsbG8=" }] }));
      const message = { messageId: "m", role: "ROLE_USER", parts: [{ raw }] };
      expect(readJson(SendMessageRequestSchema, { message }).violations).toEqual([]);
    },
  );
});

describe("an answer is refused", () => {
  it.each<[what: string, json: JsonObject, field: string]>([
    ["an id that is a number", { ...task, id: 7 }, "id"],
    ["a context that is a number", { ...task, contextId: 7 }, "contextId"],
    ["text that is a number", withArtifact({ parts: [{ text: 7 }] }), "artifacts[0].parts[0].text"],
    ["bytes that are no base64", withArtifact({ parts: [{ raw: "*" }] }), "artifacts[0].parts[0].raw"],
    ["parts that are no list", withArtifact({ parts: {} }), "artifacts[0].parts"],
    [
      "unreadable metadata of an artifact that lists an extension",
      withArtifact({ extensions: ["https://x.example"], metadata: "x" }),
      "artifacts[0].metadata",
    ],
  ])("an answer is refused for %s", (_, json, field) => {
    expect(readTask(json).violations.map((each) => each.field)).toEqual([field]);
  });

  it("an answer is refused for unreadable metadata with a member of an extension that its call activated", () => {
    const uri = "https://x.example";
    const json = { ...task, metadata: { [uri]: JSON.parse('{"__proto__":{}}') } };
    const active = readAnswer({}, { extensions: ["urn:other", uri] }, () => readTask(json));
    expect(active.violations.map(({ field }) => field)).toEqual(["metadata.https://x.example.__proto__"]);
    const other = readAnswer({}, { extensions: ["urn:other"] }, () => readTask(json));
    expect([other, readTask(json)]).toEqual(Array(2).fill({ json: task, violations: [] }));
  });

  it("an answer is refused for its content even behind many members that are left out", () => {
    const artifacts = Array.from({ length: 40 }, () => ({ artifactId: "a", name: 1, parts: [{ text: "x" }] }));
    const { violations } = readTask({ ...task, artifacts: [...artifacts, { artifactId: 7, parts: [] }] });
    expect(violations.map(({ field }) => field)).toEqual(["artifacts[40].artifactId"]);
  });
});

it("a member of an answer that is left out is reported with its path and the kind of its value", () => {
  const json = { ...withArtifact({ name: 7, parts: [{ text: "x", filename: [] }] }), metadata: "x" };
  const members: object[] = [];
  readAnswer({ onLeftOut: (path, kind) => members.push({ path, kind }) }, {}, () => readTask(json));
  readTask(json);
  expect(members).toEqual([
    { path: "artifacts[0].parts[0].filename", kind: "an array" },
    { path: "artifacts[0].name", kind: "a number" },
    { path: "metadata", kind: "a string" },
  ]);
});

it.each<[JsonObject, string]>([
  [{ metadata: "x" }, "message.metadata"],
  [{ role: "user" }, "message.role"],
  [{ role: "role_user" }, "message.role"],
  [{ parts: [{ text: "x", data: null }] }, "message.parts[0].data"],
  [{ parts: [{ text: "x", filename: 1 }] }, "message.parts[0].filename"],
])("a request with %j is refused, though an answer with it is read", (members, field) => {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "x" }], ...members };
  expect(readJson(SendMessageRequestSchema, { message }).violations.map((each) => each.field)).toEqual([field]);
});
