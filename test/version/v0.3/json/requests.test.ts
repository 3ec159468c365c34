import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../../src/protocol/errors.js";
import { findOperation, type OperationName } from "../../../../src/protocol/operations.js";
import { defaultValidationLimits } from "../../../../src/protocol/validation-limits.js";
import { kindJsonCodecs } from "../../../../src/version/v0.3/json/codec.js";

const codecs = kindJsonCodecs(defaultValidationLimits);

const part = { kind: "text", text: "hi" };
const message = { kind: "message", messageId: "m", role: "user", parts: [part] };
const withPart = (json: JsonValue): JsonObject => ({ message: { ...message, parts: [part, json] } });
const config = { url: "https://ops.example/hook" };

describe("a request that is wrong names the field as its caller knows it", () => {
  const deep = JSON.parse(`${'{"x":'.repeat(99)}1${"}".repeat(99)}`) as JsonObject;
  const cases: readonly (readonly [OperationName, JsonValue, readonly string[]])[] = [
    ["sendMessage", {}, ["message"]],
    ["sendMessage", [], [""]],
    ["sendMessage", { message: "hi" }, ["message"]],
    ["sendMessage", { message: { ...message, kind: "task" } }, ["message.kind"]],
    ["sendMessage", { message: { ...message, role: "model" } }, ["message.role"]],
    ["sendMessage", { message: { ...message, role: "agent" } }, ["message.role"]],
    ["sendMessage", { message: { ...message, role: 1 } }, ["message.role"]],
    ["sendMessage", { message: { ...message, messageId: 7 } }, ["message.messageId"]],
    ["sendMessage", { message: { ...message, messageId: "" } }, ["message.messageId"]],
    ["sendMessage", { message: { ...message, messageId: null } }, ["message.messageId"]],
    ["sendMessage", { message: { kind: "message", role: "user", parts: [part] } }, ["message.messageId"]],
    ["sendMessage", { message: { ...message, parts: [] } }, ["message.parts"]],
    ["sendMessage", { message: { messageId: "m", role: "user" } }, ["message.parts"]],
    ["sendMessage", { message: { ...message, parts: "hi" } }, ["message.parts"]],
    ["sendMessage", { message: { ...message, taskId: 7, parts: [7] } }, ["message.taskId", "message.parts[0]"]],
    ["sendMessage", { message: { ...message, referenceTaskIds: [7] } }, ["message.referenceTaskIds[0]"]],
    ["sendMessage", { message: { ...message, metadata: [] } }, ["message.metadata"]],
    ["sendMessage", { message: { ...message, metadata: deep } }, [expect.stringMatching(/^message\.metadata\.x/)]],
    ["sendMessage", withPart({ kind: "video", text: "x" }), ["message.parts[1].kind"]],
    ["sendMessage", withPart({ type: "video" }), ["message.parts[1].type"]],
    ["sendMessage", withPart({}), ["message.parts[1].kind"]],
    ["sendMessage", withPart({ text: "a", data: {} }), ["message.parts[1].kind"]],
    ["sendMessage", withPart({ kind: "text" }), ["message.parts[1].text"]],
    ["sendMessage", withPart({ kind: "text", text: 7 }), ["message.parts[1].text"]],
    ["sendMessage", withPart({ kind: "text", text: "\ud800" }), ["message.parts[1].text"]],
    ["sendMessage", withPart({ kind: "data", data: [1] }), ["message.parts[1].data"]],
    ["sendMessage", withPart({ kind: "data" }), ["message.parts[1].data"]],
    ["sendMessage", withPart({ kind: "file" }), ["message.parts[1].file"]],
    ["sendMessage", withPart({ kind: "file", file: "x" }), ["message.parts[1].file"]],
    ["sendMessage", withPart({ kind: "file", file: {} }), ["message.parts[1].file"]],
    ["sendMessage", withPart({ kind: "file", file: { bytes: "", uri: "u" } }), ["message.parts[1].file"]],
    ["sendMessage", withPart({ kind: "file", file: { bytes: "!" } }), ["message.parts[1].file.bytes"]],
    ["sendMessage", withPart({ kind: "file", file: { bytes: 7 } }), ["message.parts[1].file.bytes"]],
    ["sendMessage", withPart({ kind: "file", file: { uri: 7 } }), ["message.parts[1].file.uri"]],
    ["sendMessage", withPart({ kind: "file", file: { uri: "u", name: 7 } }), ["message.parts[1].file.name"]],
    [
      "sendMessage",
      withPart({ kind: "file", file: { uri: "u", mimeType: "m".repeat(300) } }),
      ["message.parts[1].file.mimeType"],
    ],
    ["sendMessage", { message, configuration: "x" }, ["configuration"]],
    ["sendMessage", { message, configuration: { blocking: "yes" } }, ["configuration.blocking"]],
    ["sendMessage", { message, configuration: { historyLength: -1 } }, ["configuration.historyLength"]],
    ["sendMessage", { message, configuration: { acceptedOutputModes: [1] } }, ["configuration.acceptedOutputModes[0]"]],
    [
      "sendMessage",
      { message, configuration: { pushNotificationConfig: { token: "a\nb" } } },
      ["configuration.pushNotificationConfig.token", "configuration.pushNotificationConfig.url"],
    ],
    [
      "sendStreamingMessage",
      { message, configuration: { pushNotificationConfig: { ...config, authentication: { schemes: "Basic" } } } },
      ["configuration.pushNotificationConfig.authentication.schemes"],
    ],
    ["getTask", {}, ["id"]],
    ["getTask", { id: 7, historyLength: 1.5 }, ["id", "historyLength"]],
    ["cancelTask", { id: "t", metadata: 7 }, ["metadata"]],
    ["subscribeToTask", { id: null }, ["id"]],
    ["createTaskPushNotificationConfig", {}, ["pushNotificationConfig", "taskId"]],
    ["createTaskPushNotificationConfig", { taskId: "t", pushNotificationConfig: {} }, ["pushNotificationConfig.url"]],
    [
      "createTaskPushNotificationConfig",
      { taskId: "t", pushNotificationConfig: { ...config, authentication: {} } },
      ["pushNotificationConfig.authentication.schemes"],
    ],
    [
      "createTaskPushNotificationConfig",
      { taskId: "t", pushNotificationConfig: { ...config, authentication: { schemes: [7] } } },
      ["pushNotificationConfig.authentication.schemes"],
    ],
    ["getTaskPushNotificationConfig", {}, ["id"]],
    ["getTaskPushNotificationConfig", { id: "t", pushNotificationConfigId: 7 }, ["pushNotificationConfigId"]],
    ["listTaskPushNotificationConfigs", { id: 7 }, ["id"]],
    ["deleteTaskPushNotificationConfig", { id: "t" }, ["pushNotificationConfigId"]],
    ["getExtendedAgentCard", "x", [""]],
  ];

  it.each(cases)("a wrong kind-JSON request names the field as its caller knows it: %s %j", (name, params, fields) => {
    const error = failureOf(() => codecs(findOperation(name)).readRequest(params));
    expect(error).toMatchObject({ code: "invalidParams" });
    expect(new Set(error.violations.map(({ field }) => field))).toEqual(new Set(fields));
  });

  it("a wrong kind-JSON request is reported in its version's terms", () => {
    const error = failureOf(() =>
      codecs(findOperation("sendMessage")).readRequest({ message: { ...message, role: "agent" } }),
    );
    expect(error.message).toBe("invalid parameters: message.role must be user in a request");
  });

  it("a wrong kind-JSON request leaves names inside of free JSON alone", () => {
    const metadata = { parts: [{ raw: "\ud800" }] };
    const error = failureOf(() => codecs(findOperation("cancelTask")).readRequest({ id: "t", metadata }));
    expect(error.violations).toEqual([expect.objectContaining({ field: "metadata.parts[0].raw" })]);
  });
});

describe("sloppy input is read as intended:", () => {
  const codec = codecs(findOperation("sendMessage"));
  const read = (params: JsonValue): unknown => codec.readRequest(params);
  const whole = read({ message });

  // Requirements: V03-MSG-5
  it("a kind-JSON message without kind is read as intended", () => {
    const { kind: _, ...rest } = message;
    expect(read({ message: rest })).toEqual(whole);
  });

  // Requirements: V03-MSG-5
  it("kind-JSON parts that name their kind as type are read as intended", () => {
    const parts = [{ type: "text", text: "hi" }];
    expect(read({ message: { ...message, parts } })).toEqual(whole);
  });

  it.each([{ text: "hi" }, { text: "hi", file: null, data: null, kind: null }])(
    "a kind-JSON part with neither kind nor type is read as intended: %j",
    (json) => {
      expect(read({ message: { ...message, parts: [json] } })).toEqual(whole);
    },
  );

  it.each([{ data: "SzQ=" }, { fileWithBytes: "SzQ=" }, { bytes: "SzQ" }, { bytes: "SzQ=", uri: null }] as const)(
    "kind-JSON file bytes are read as intended as %j",
    (file) => {
      expect(read(withPart({ kind: "file", file }))).toEqual(read(withPart({ kind: "file", file: { bytes: "SzQ=" } })));
    },
  );

  it("kind-JSON bytes in the URL-safe alphabet are read as intended", () => {
    const bytes = read(withPart({ kind: "file", file: { bytes: "--__" } }));
    expect(bytes).toEqual(read(withPart({ kind: "file", file: { bytes: "++//" } })));
  });

  it("a kind-JSON file by fileWithUri is read as intended", () => {
    const uri = read(withPart({ kind: "file", file: { uri: "https://a" } }));
    expect(read(withPart({ kind: "file", file: { fileWithUri: "https://a" } }))).toEqual(uri);
  });

  it("a messageId beside the kind-JSON message is read as intended", () => {
    const { messageId, ...rest } = message;
    expect(read({ message: rest, messageId })).toEqual(whole);
  });

  it("a kind-JSON message without role is read as intended", () => {
    const { role: _, ...rest } = message;
    expect(read({ message: rest })).toEqual(whole);
  });

  it("null for every optional kind-JSON member is read as intended", () => {
    const nothing = { taskId: null, contextId: null, referenceTaskIds: null, extensions: null, metadata: null };
    const configuration = { acceptedOutputModes: null, historyLength: null, blocking: null };
    expect(read({ message: { ...message, ...nothing }, configuration, metadata: null })).toEqual(
      read({ message, configuration: {} }),
    );
  });

  it("an empty kind-JSON list of authentication schemes is read as none", () => {
    const set = codecs(findOperation("createTaskPushNotificationConfig"));
    const body = { taskId: "t", pushNotificationConfig: { ...config, authentication: { schemes: [] } } };
    expect(set.readRequest(body)).toEqual(set.readRequest({ taskId: "t", pushNotificationConfig: config }));
  });

  it("a kind-JSON push configuration whose task is named by id is read as intended", () => {
    const set = codecs(findOperation("createTaskPushNotificationConfig"));
    const meant = set.readRequest({ taskId: "t", pushNotificationConfig: config });
    expect(set.readRequest({ id: "t", pushNotificationConfig: config })).toEqual(meant);
  });

  it("a kind-JSON call needs no params at all where there are none", () => {
    expect(codecs(findOperation("getExtendedAgentCard")).readRequest(undefined)).toMatchObject({ tenant: "" });
  });
});

describe("whether a send waits", () => {
  it.each([
    [{}, false],
    [{ configuration: {} }, false],
    [{ configuration: { blocking: true } }, false],
    [{ configuration: { blocking: false } }, true],
  ])("whether a kind-JSON send waits is read from its fields: %j", (fields, returnsAtOnce) => {
    const request = codecs(findOperation("sendMessage")).readRequest({ message, ...fields });
    const { configuration } = request as { configuration?: { returnImmediately: boolean } };
    expect(configuration?.returnImmediately ?? false).toBe(returnsAtOnce);
  });

  it.each([
    [undefined, undefined],
    [0, 0],
    [3, 3],
  ])("a kind-JSON history length of %j is %j", (historyLength, meant) => {
    const configuration = historyLength === undefined ? {} : { historyLength };
    const request = codecs(findOperation("sendMessage")).readRequest({ message, configuration });
    expect((request as { configuration?: { historyLength?: number } }).configuration?.historyLength).toBe(meant);
  });
});

function failureOf(run: () => unknown): A2AError {
  try {
    run();
  } catch (error) {
    if (error instanceof A2AError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
