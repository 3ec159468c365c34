import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AError } from "../../../src/protocol/errors.js";
import type { OperationName } from "../../../src/protocol/operations.js";
import { arbitraryJson } from "../../support/arbitrary-message.js";
import { codecOf } from "./codecs.js";

describe("params at fault", () => {
  const part = (json: JsonValue): JsonObject => ({ id: "t", message: { role: "user", parts: [json] } });
  const message = { role: "user", parts: [{ text: "hello" }] };
  const config = (json: JsonValue): JsonObject => ({ id: "t", pushNotificationConfig: json });

  it.each<[OperationName, JsonValue, string[]]>([
    ["sendMessage", [], [""]],
    ["sendMessage", {}, ["id", "message"]],
    ["sendMessage", { id: "", message }, ["id"]],
    ["sendMessage", { id: 7, message }, ["id"]],
    ["sendMessage", { id: "x".repeat(300), message }, ["id"]],
    ["sendMessage", { id: "t", sessionId: 5, message }, ["sessionId"]],
    ["sendMessage", { id: "t", message: "hello" }, ["message"]],
    ["sendMessage", { id: "t", message: {} }, ["message.role", "message.parts"]],
    ["sendMessage", { id: "t", message: { role: "pilot", parts: [{ text: "a" }] } }, ["message.role"]],
    ["sendMessage", { id: "t", message: { role: "agent", parts: [{ text: "a" }] } }, ["message.role"]],
    ["sendMessage", { id: "t", message: { role: "user", parts: {} } }, ["message.parts"]],
    ["sendMessage", part("a"), ["message.parts[0]"]],
    ["sendMessage", part({}), ["message.parts[0].type"]],
    ["sendMessage", part({ type: "video", uri: "x" }), ["message.parts[0].type"]],
    ["sendMessage", part({ type: "text" }), ["message.parts[0].text"]],
    ["sendMessage", part({ type: "text", text: 5 }), ["message.parts[0].text"]],
    ["sendMessage", part({ type: "file" }), ["message.parts[0].file"]],
    ["sendMessage", part({ type: "file", file: "k4" }), ["message.parts[0].file"]],
    ["sendMessage", part({ type: "file", file: { bytes: "?" } }), ["message.parts[0].file.bytes"]],
    ["sendMessage", part({ type: "file", file: { uri: 5 } }), ["message.parts[0].file.uri"]],
    [
      "sendMessage",
      part({ type: "file", file: { uri: "x", name: 5, mimeType: {} } }),
      ["message.parts[0].file.name", "message.parts[0].file.mimeType"],
    ],
    ["sendMessage", part({ type: "data", data: "K4" }), ["message.parts[0].data"]],
    ["sendMessage", part({ type: "data" }), ["message.parts[0].data"]],
    ["sendMessage", part({ type: "text", text: "a", metadata: [] }), ["message.parts[0].metadata"]],
    ["sendMessage", { id: "t", message, historyLength: -1 }, ["historyLength"]],
    ["sendMessage", { id: "t", message, historyLength: "many" }, ["historyLength"]],
    ["sendMessage", { id: "t", message, metadata: 5 }, ["metadata"]],
    ["sendMessage", { id: "t", message, acceptedOutputModes: "text" }, ["acceptedOutputModes"]],
    ["sendMessage", { id: "t", message, pushNotification: {} }, ["pushNotification.url"]],
    ["sendMessage", { id: "t", message, pushNotification: "x" }, ["pushNotification"]],
    [
      "sendStreamingMessage",
      { id: "t", message, pushNotification: { url: "https://x.example", authentication: { schemes: "Bearer" } } },
      ["pushNotification.authentication.schemes"],
    ],
    [
      "sendStreamingMessage",
      { id: "t", message, pushNotification: { url: "https://x.example", authentication: { schemes: [5] } } },
      ["pushNotification.authentication.schemes[0]"],
    ],
    ["getTask", {}, ["id"]],
    ["getTask", { id: 5 }, ["id"]],
    ["getTask", { id: "t", historyLength: 1.5 }, ["historyLength"]],
    ["cancelTask", null, ["id"]],
    ["cancelTask", { id: "t", metadata: "x" }, ["metadata"]],
    ["subscribeToTask", { id: "" }, ["id"]],
    ["createTaskPushNotificationConfig", {}, ["id", "pushNotificationConfig.url"]],
    ["createTaskPushNotificationConfig", config("x"), ["pushNotificationConfig"]],
    ["createTaskPushNotificationConfig", config({ url: 5 }), ["pushNotificationConfig.url"]],
    ["createTaskPushNotificationConfig", { pushNotificationConfig: null }, ["id"]],
    [
      "createTaskPushNotificationConfig",
      config({ url: "https://x.example", token: "a\nb" }),
      ["pushNotificationConfig.token"],
    ],
    ["getTaskPushNotificationConfig", {}, ["id"]],
  ])("a fault in the 0.1 params of %s, %j, names %j", (operation, params, fields) => {
    let error: unknown;
    try {
      codecOf(operation).readRequest(params);
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof A2AError)) throw new TypeError("the params were taken");
    expect(error.code).toBe("invalidParams");
    expect(error.violations.map(({ field }) => field).sort()).toEqual([...fields].sort());
  });

  it("faults in 0.1 params never lead to another error than an A2AError", () => {
    const shaped = fc.letrec<{ json: JsonValue }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 4 },
        arbitraryJson as fc.Arbitrary<JsonValue>,
        fc.array(tie("json"), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom(...members), tie("json"), { maxKeys: 6, noNullPrototype: true }),
      ) as fc.Arbitrary<JsonValue>,
    })).json;
    fc.assert(
      fc.property(fc.constantFrom(...spoken), shaped, (name, json) => {
        const codec = codecOf(name);
        for (const read of [() => codec.readRequest(json), () => codec.readReply(json)]) {
          try {
            read();
          } catch (error) {
            expect(error).toBeInstanceOf(A2AError);
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

const members = [
  "id",
  "sessionId",
  "status",
  "state",
  "message",
  "role",
  "parts",
  "type",
  "text",
  "file",
  "data",
  "bytes",
  "uri",
  "artifacts",
  "artifact",
  "index",
  "append",
  "history",
  "historyLength",
  "metadata",
  "pushNotification",
  "pushNotificationConfig",
  "url",
  "authentication",
  "schemes",
  "timestamp",
  "name",
];

const spoken = [
  "sendMessage",
  "sendStreamingMessage",
  "getTask",
  "cancelTask",
  "subscribeToTask",
  "createTaskPushNotificationConfig",
  "getTaskPushNotificationConfig",
  "listTaskPushNotificationConfigs",
  "deleteTaskPushNotificationConfig",
] as const;
