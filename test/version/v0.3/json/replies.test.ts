import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../../src/protocol/errors.js";
import { Role, type Task, TaskState } from "../../../../src/protocol/model.js";
import { findOperation, type OperationName, operations } from "../../../../src/protocol/operations.js";
import { isoTime } from "../../../../src/protocol/timestamp.js";
import { defaultValidationLimits } from "../../../../src/protocol/validation-limits.js";
import { jsonRpcAdapter } from "../../../../src/version/v0.3/json-rpc.js";

const adapter = jsonRpcAdapter(defaultValidationLimits);
const read = (name: OperationName, json: JsonValue | undefined): unknown =>
  adapter.codec(findOperation(name)).readReply(json);
const readTask = (json: JsonValue): Task => read("getTask", json) as Task;

const part = { kind: "text", text: "hi" };
const status = { state: "working" };

describe("a reply without kind is identified by its members:", () => {
  it.each([
    [{ id: "t", contextId: "c", status }, "task"],
    [{ messageId: "m", parts: [part] }, "message"],
    [{ role: "agent", parts: [part] }, "message"],
  ])("a reply without kind is identified by its members: %j is a %s", (json, kind) => {
    expect(read("sendMessage", json)).toMatchObject({ payload: { case: kind } });
  });

  it.each([
    [{ taskId: "t", contextId: "c", status, final: false }, "statusUpdate"],
    [{ taskId: "t", status }, "statusUpdate"],
    [{ taskId: "t", artifact: { artifactId: "a", parts: [part] } }, "artifactUpdate"],
    [{ id: "t", contextId: "c", status }, "task"],
    [{ messageId: "m", parts: [part] }, "message"],
  ])("an event without kind is identified by its members: %j is a %s", (json, kind) => {
    const items = adapter.readStream(findOperation("subscribeToTask")).read(json);
    expect(items).toMatchObject([{ response: { payload: { case: kind } } }]);
  });
});

describe("replies are read leniently:", () => {
  it("a kind-JSON message without an id gets the same one whenever it is read", () => {
    const message = { role: "agent", parts: [part] };
    const task = { kind: "task", id: "t", contextId: "c", status: { state: "working", message }, history: [message] };
    const [first, second] = [readTask(task), readTask(structuredClone(task))];
    const id = first.status?.message?.messageId;
    expect(id).toMatch(/^anonymous-[0-9a-f]{16}$/);
    expect(second.status?.message?.messageId).toBe(id);
    expect(first.history[0]?.messageId).toBe(id);
    const other = readTask({ ...task, history: [{ ...message, parts: [{ kind: "text", text: "ho" }] }] });
    expect(other.history[0]?.messageId).not.toBe(id);
  });

  // Requirements: V03-TASK-2
  it.each([
    ["canceled", TaskState.CANCELED],
    ["cancelled", TaskState.CANCELED],
    ["unknown", TaskState.UNSPECIFIED],
    ["paused", TaskState.UNSPECIFIED],
    ["Input_Required", TaskState.INPUT_REQUIRED],
    ["TASK_STATE_FAILED", TaskState.FAILED],
    [7, TaskState.REJECTED],
    [99, TaskState.UNSPECIFIED],
    [null, TaskState.UNSPECIFIED],
  ])("a kind-JSON reply with the state %j is read leniently", (state, meant) => {
    expect(readTask({ id: "t", contextId: "c", status: { state } }).status?.state).toBe(meant);
  });

  it("a kind-JSON message of a role that we do not know is the agent's", () => {
    expect(read("sendMessage", { kind: "message", messageId: "m", role: "model", parts: [part] })).toMatchObject({
      payload: { value: { role: Role.AGENT } },
    });
  });

  it.each([
    [{ kind: "data", data: [1] }, { case: "data" }],
    [
      { kind: "video", text: "shown" },
      { case: "text", value: "shown" },
    ],
    [{ type: "file", file: { data: "SzQ=" } }, { case: "raw" }],
    [{ kind: "file", file: { bytes: "SzQ=", uri: "https://a" } }, { case: "raw" }],
    [{ kind: "video" }, { case: undefined }],
  ])("a kind-JSON reply with the part %j is read leniently", (wirePart, content) => {
    expect(read("sendMessage", { kind: "message", messageId: "m", parts: [wirePart] })).toMatchObject({
      payload: { value: { parts: [{ content }] } },
    });
  });

  it("a kind-JSON reply with unknown members and broken Unicode is read leniently", () => {
    expect(readTask({ kind: "task", id: "t\ud800", contextId: "c", status, mood: "good" })).toMatchObject({
      id: "t\ufffd",
    });
  });

  it.each([undefined, null, {}, true])("a kind-JSON delete that is answered with %j is read leniently", (json) => {
    expect(read("deleteTaskPushNotificationConfig", json)).toEqual({ $typeName: "google.protobuf.Empty" });
  });

  it("a kind-JSON reply that is a push configuration alone is read leniently", () => {
    const codec = adapter.codec(findOperation("getTaskPushNotificationConfig"));
    const request = codec.readRequest({ id: "t", pushNotificationConfigId: "c" });
    expect(codec.readReply({ id: "c", url: "https://h" }, request)).toMatchObject({
      taskId: "t",
      id: "c",
      url: "https://h",
    });
  });
});

describe("what cannot be read at all is an invalidAgentResponse:", () => {
  it.each([
    ["sendMessage", undefined],
    ["sendMessage", {}],
    ["sendMessage", "no"],
    ["sendMessage", { kind: "status-update", taskId: "t", contextId: "c", status, final: true }],
    ["sendMessage", { kind: "task", id: 7, status }],
    ["getTask", { kind: "message", messageId: "m", role: "agent", parts: [] }],
    ["getTask", { kind: "task", id: "t", contextId: "c", status: "working" }],
    ["getTask", { kind: "task", id: "t", contextId: "c", status, history: {} }],
    ["cancelTask", null],
    ["createTaskPushNotificationConfig", { taskId: "t" }],
    ["listTaskPushNotificationConfigs", {}],
    ["listTaskPushNotificationConfigs", [7]],
    ["getExtendedAgentCard", 7],
  ] as const)("a kind-JSON reply that cannot be read at all is an invalidAgentResponse: %s %j", (name, json) => {
    expect(() => read(name, json as JsonValue | undefined)).toThrow(
      expect.objectContaining({ code: "invalidAgentResponse" }),
    );
  });

  it("an invalidAgentResponse names the kind-JSON member as the peer knows it", () => {
    const parts = [{ kind: "file", file: { bytes: 7 } }];
    expect(() => read("sendMessage", { kind: "message", messageId: "m", parts })).toThrow(
      "message.parts[0].file.bytes must be a base64 string, not a number",
    );
  });
});

describe("a time", () => {
  it.each([
    ["2025-05-04T08:00:00Z", "2025-05-04T08:00:00Z"],
    ["2025-05-04T08:00:00.123456", "2025-05-04T08:00:00.123456Z"],
    ["2025-05-04 08:00:00", "2025-05-04T08:00:00Z"],
    ["2025-05-04t08:00:00z", "2025-05-04T08:00:00Z"],
    ["2025-05-04T08:00:00,5+0200", "2025-05-04T08:00:00.5+02:00"],
    ["2025-05-04T08:00:00-03", "2025-05-04T08:00:00-03:00"],
    ["2025-05-04T08:00:00.1234567890123Z", "2025-05-04T08:00:00.123456789Z"],
    ["2025-05-04T08:00", "2025-05-04T08:00:00Z"],
    ["2025-05-04", "2025-05-04T00:00:00Z"],
  ])("the kind-JSON time %s is %s", (text, time) => {
    expect(isoTime(text)).toBe(time);
  });

  it.each(["yesterday", "", "2025-02-30T00:00:00Z", "2025-05-04T24:00:00Z", "1746345600", "May 4, 2025"])(
    "the kind-JSON time %j is left out",
    (timestamp) => {
      expect(isoTime(timestamp)).toBeUndefined();
      const task = readTask({ id: "t", contextId: "c", status: { ...status, timestamp } });
      expect(task.status?.timestamp).toBeUndefined();
    },
  );

  it("a kind-JSON time without a zone is one of UTC, and is written with it", () => {
    const task = readTask({ id: "t", contextId: "c", status: { ...status, timestamp: "2025-05-04T08:00:00.25" } });
    expect(adapter.codec(findOperation("getTask")).writeReply(task, task)).toMatchObject({
      status: { timestamp: "2025-05-04T08:00:00.250Z" },
    });
  });
});

describe("any JSON", () => {
  const names =
    "kind type id messageId role parts text file data bytes uri name mimeType taskId contextId status state message " +
    "timestamp history artifacts artifact artifactId final append lastChunk metadata data_part_compat value url token " +
    "configuration blocking historyLength acceptedOutputModes pushNotificationConfig pushNotificationConfigId " +
    "authentication schemes credentials code extensions referenceTaskIds __proto__ constructor";
  const words =
    "task message status-update artifact-update text file data user agent working completed 2025-01-01 SzQ=";
  const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
    json: fc.oneof(
      { depthSize: "medium", withCrossShrink: true },
      fc.constantFrom<JsonValue[]>(null, true, 0, -1, 1.5, 1e99, "", "\ud800", ...words.split(" ")),
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names.split(" ")), tie("json"), { maxKeys: 6, noNullPrototype: true }),
    ),
  }));
  // Parsed from text, so that `__proto__` is a member instead of the prototype.
  const parsed = fc.oneof(json, fc.jsonValue()).map((value): JsonValue => JSON.parse(JSON.stringify(value)));

  const onlyOurs = (run: () => unknown): void => {
    try {
      run();
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
    }
  };

  it.each(operations.map(({ name }) => name))("any JSON as %s is read or refused by an A2AError", (name) => {
    const operation = findOperation(name);
    const codec = adapter.codec(operation);
    fc.assert(
      fc.property(parsed, (value) => {
        onlyOurs(() => codec.writeRequest(codec.readRequest(value)));
        onlyOurs(() => codec.readReply(value));
        onlyOurs(() => {
          for (const item of adapter.readStream(operation).read(value)) {
            adapter.writeStream(operation, item.response).write(item);
          }
        });
        expect(adapter.readError(value)).toBeInstanceOf(A2AError);
      }),
      { numRuns: 300 },
    );
  });

  it("any JSON, however deep, is read or refused by an A2AError", () => {
    const deep = JSON.parse(`${'{"parts":[{"data":'.repeat(50_000)}0${"}]}".repeat(50_000)}`) as JsonObject;
    for (const { name } of operations) {
      const codec = adapter.codec(findOperation(name));
      const body: JsonObject = { ...deep, message: deep, metadata: deep, configuration: deep, status: deep };
      onlyOurs(() => codec.readRequest(body));
      onlyOurs(() => codec.readReply(body));
      onlyOurs(() => codec.readReply({ ...body, id: "t", parts: [{ metadata: deep, text: "x" }] }));
    }
  });
});
