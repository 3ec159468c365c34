import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { errorFromDetails } from "../../protocol/error-details.js";
import { type A2AError, type ErrorCode, errorTable, formatErrorMessage } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import { violationText } from "../../protocol/violations.js";
import { oldField } from "./codec.js";

// Errors of 0.1. Some of its numbers have another meaning in later versions.

const streamingNotSupported = -32006;
const authenticationRequired = -32007;
const authorizationFailed = -32008;
const invalidTaskState = -32009;
const rateLimitExceeded = -32010;
const resourceUnavailable = -32011;

/** The errors whose number in 0.1 differs from 1.0. */
const numbers: { readonly [code in ErrorCode]?: number } = {
  invalidAgentResponse: errorTable.internalError.jsonRpc,
  extendedAgentCardNotConfigured: errorTable.unsupportedOperation.jsonRpc,
  extensionSupportRequired: errorTable.unsupportedOperation.jsonRpc,
  versionNotSupported: errorTable.invalidRequest.jsonRpc,
  unauthenticated: authenticationRequired,
  permissionDenied: authorizationFailed,
  resourceExhausted: rateLimitExceeded,
  unavailable: resourceUnavailable,
};

/** Returns the `error` member. It has no `data`; the message carries the useful part of the details. */
export function errorToJson(error: A2AError, operation: Operation | undefined): JsonObject {
  return { code: chooseNumber(error, operation), message: writeMessage(error, operation) };
}

function chooseNumber({ code, metadata }: A2AError, operation: Operation | undefined): number {
  if (code === "unsupportedOperation") {
    // An operation refused because of a task was refused because the task has ended.
    if (metadata["taskId"] !== undefined) return invalidTaskState;
    if (operation?.streams === true) return streamingNotSupported;
  }
  return numbers[code] ?? errorTable[code].jsonRpc;
}

/** One client recognizes these errors only if both number and text match. */
const fixedTexts: { readonly [code in ErrorCode]?: string } = {
  taskNotFound: "Task not found",
  taskNotCancelable: "Task not cancelable",
};
const maxViolations = 3;

const isUnsupported = (code: ErrorCode): boolean => numbers[code] === errorTable.unsupportedOperation.jsonRpc;

function writeMessage({ code, message, violations }: A2AError, operation: Operation | undefined): string {
  const fixedText = fixedTexts[code];
  if (fixedText !== undefined) return fixedText;
  if (violations.length === 0)
    return isUnsupported(code) ? formatErrorMessage("unsupportedOperation", message) : message;
  const texts = violations.slice(0, maxViolations).map(({ field, description }) => {
    return violationText({ field: operation === undefined ? field : oldField(operation.name, field), description });
  });
  const more = violations.length > maxViolations ? [`${violations.length - maxViolations} more`] : [];
  return `invalid parameters: ${[...texts, ...more].join("; ")}`;
}

const codes: ReadonlyMap<unknown, ErrorCode> = new Map<number, ErrorCode>([
  [-32700, "parseError"],
  [-32600, "invalidRequest"],
  [-32601, "methodNotFound"],
  [-32602, "invalidParams"],
  [-32001, "taskNotFound"],
  [-32002, "taskNotCancelable"],
  [-32003, "pushNotificationNotSupported"],
  [-32004, "unsupportedOperation"],
  [-32005, "contentTypeNotSupported"],
  [streamingNotSupported, "unsupportedOperation"],
  [authenticationRequired, "unauthenticated"],
  [authorizationFailed, "permissionDenied"],
  [invalidTaskState, "unsupportedOperation"],
  [rateLimitExceeded, "resourceExhausted"],
  [resourceUnavailable, "unavailable"],
  // Nonstandard numbers of peers that reject unauthorized callers before they know the version.
  [-31401, "unauthenticated"],
  [-31403, "permissionDenied"],
]);

/** Reads the `error` member. Never throws. */
export function errorFromJson(json: JsonValue | undefined): A2AError {
  const { code, message, data } = isJsonObject(json) ? json : {};
  const texts = [message, data].filter((text) => typeof text === "string" && text !== "");
  const text = texts.length === 0 ? "the agent answered with an error" : [...new Set(texts)].join(": ");
  return errorFromDetails(data, text, codes.get(code) ?? "internalError");
}
