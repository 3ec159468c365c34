import type { JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { A2AError, type ErrorCode, errorCodes, errorTable, invalidParams } from "../../../src/protocol/errors.js";
import { findOperation } from "../../../src/protocol/operations.js";
import {
  errorFromJsonRpc,
  findErrorByClass,
  findErrorClass,
  jsonRpcFromError,
} from "../../../src/version/v0.3/errors.js";

const ownNumbers: { readonly [K in ErrorCode]?: number } = { unauthenticated: -31401, permissionDenied: -31403 };

describe.each(errorCodes)("%s", (code) => {
  const written = jsonRpcFromError(new A2AError(code, "what went wrong"), undefined);
  // One client recognizes this error by the schema's text.
  const message = code === "taskNotFound" ? "Task not found" : "what went wrong";

  // Requirements: V03-ERR-1, V03-ERR-4
  it("an error code of 0.3 has its number, its text and no data", () => {
    expect(written).toEqual({ code: ownNumbers[code] ?? errorTable[code].jsonRpc, message });
  });

  it("an error code of 0.3 is read back, or as the error that shares its number", () => {
    const read = errorFromJsonRpc(written);
    expect(read.message).toBe(message);
    if (errorTable[code].a2a || code in ownNumbers) expect(read.code).toBe(code);
    expect(jsonRpcFromError(read, undefined)).toEqual(written);
  });

  it("an error code of 0.3 has the name of a class that is read back", () => {
    const name = findErrorClass(code);
    const named = findErrorByClass(name);
    expect(named && errorTable[named].jsonRpc).toBe(
      code in ownNumbers ? errorTable.internalError.jsonRpc : errorTable[code].jsonRpc,
    );
  });
});

it.each([
  ["taskNotFound", "TaskNotFoundError"],
  ["parseError", "JSONParseError"],
  ["invalidRequest", "InvalidRequestError"],
  ["extendedAgentCardNotConfigured", "AuthenticatedExtendedCardNotConfiguredError"],
  ["contentTooLarge", "InvalidRequestError"],
  ["unavailable", "InternalError"],
] as const)("the error %s of 0.3 is a %s", (code, name) => {
  expect(findErrorClass(code)).toBe(name);
});

it.each([
  ["task-not-found", "taskNotFound"],
  ["TASK_NOT_FOUND", "taskNotFound"],
  ["task-not-cancelable-error", "taskNotCancelable"],
  ["ExtendedAgentCardNotConfiguredError", "extendedAgentCardNotConfigured"],
  ["json-parse", "parseError"],
  ["parse-error", "parseError"],
  ["nonsense", undefined],
  ["", undefined],
] as const)("the error name %j means %s", (name, code) => {
  expect(findErrorByClass(name)).toBe(code);
});

describe("an error that is read", () => {
  it.each([
    [{ code: -32001, message: "gone" }, "taskNotFound", "gone"],
    [{ code: -32001 }, "taskNotFound", "task not found"],
    [{ code: -32001, message: "" }, "taskNotFound", "task not found"],
    [{ code: -32603, message: "Task not found" }, "taskNotFound", "Task not found"],
    [{ code: -32603, message: "Method not found" }, "methodNotFound", "Method not found"],
    [{ code: -32602, message: "Task not found" }, "invalidParams", "Task not found"],
    [{ code: -32603 }, "internalError", "internal error"],
    [{ code: -32099, message: "ours" }, "internalError", "ours"],
    [{ code: "x", message: 7 }, "internalError", "internal error"],
    [null, "internalError", "internal error"],
    ["boom", "internalError", "internal error"],
  ] as [JsonValue, ErrorCode, string][])("the 0.3 error %j is read", (json, code, message) => {
    expect(errorFromJsonRpc(json)).toMatchObject({ code, message });
  });

  const info = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    reason: "TASK_NOT_FOUND",
    domain: "a2a-protocol.org",
    metadata: { taskId: "t" },
  };

  it.each([[[info]], [{ details: [info] }], [info]])(
    "a 0.3 error that is read takes its reason from data: %j",
    (data) => {
      expect(errorFromJsonRpc({ code: -32603, message: "oh", data })).toMatchObject({
        code: "taskNotFound",
        metadata: { taskId: "t" },
      });
    },
  );

  it.each([7, "text", ["x"], { taskId: "t" }])("a 0.3 error that is read ignores data of another kind: %j", (data) => {
    expect(errorFromJsonRpc({ code: -32002, message: "no", data })).toMatchObject({ code: "taskNotCancelable" });
  });
});

describe("the text of an error names the fields at fault", () => {
  const operation = findOperation("sendMessage");
  const field = (name: string) => ({ field: name, description: "is required" });

  it("the text of a 0.3 error names the fields at fault by their old names", () => {
    const error = invalidParams(field("configuration.taskPushNotificationConfig.url"), field("message.parts[0].raw"));
    expect(jsonRpcFromError(error, operation)).toEqual({
      code: -32602,
      message:
        "invalid parameters: configuration.pushNotificationConfig.url is required, " +
        "message.parts[0].file.bytes is required",
    });
  });

  it("the text of a 0.3 error names three fields at most, and says how many more there are", () => {
    const error = invalidParams(...["a", "b", "c", "d", "e"].map(field));
    expect(jsonRpcFromError(error, operation)["message"]).toBe(
      "invalid parameters: a is required, b is required, c is required, and 2 more",
    );
  });
});
