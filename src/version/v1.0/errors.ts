import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { detailsFromError, errorFromDetails } from "../../protocol/error-details.js";
import { type A2AError, type ErrorCode, errorCodeFromReason, errorTable } from "../../protocol/errors.js";
import { grpcStatusNames } from "../../protocol/grpc-status.js";

// Errors of 1.0 on the two JSON bindings, in both directions (spec 5.4, 5.5). Readers also accept the forms of older
// and nonconforming servers.

/** The `error` member of a JSON-RPC reply. */
export function jsonRpcFromError(error: A2AError): JsonObject {
  return { code: errorTable[error.code].jsonRpc, message: error.message, data: detailsFromError(error) };
}

// For a number that several errors share, the most likely one.
const codesByNumber: ReadonlyMap<unknown, ErrorCode> = new Map<number, ErrorCode>([
  ...Object.entries(errorTable)
    .filter(([, row]) => row.a2a)
    .map(([code, row]) => [row.jsonRpc, code as ErrorCode] as const),
  [-32700, "parseError"],
  [-32600, "invalidRequest"],
  [-32601, "methodNotFound"],
  [-32602, "invalidParams"],
  [-32000, "unauthenticated"],
]);

/** Reads the `error` member of a JSON-RPC reply, by `ErrorInfo.reason`, otherwise by its number. Never throws. */
export function errorFromJsonRpc(error: JsonValue | undefined): A2AError {
  const { code, message, data } = isJsonObject(error) ? error : {};
  return errorFromDetails(
    data,
    readText(message, "the agent answered with an error"),
    codesByNumber.get(code) ?? "internalError",
  );
}

/** The body of a failed HTTP+JSON call. */
export function httpBodyFromError(error: A2AError): JsonObject {
  const { http, grpc } = errorTable[error.code];
  const status = grpcStatusNames[grpc] ?? "UNKNOWN";
  return { error: { code: http, status, message: error.message, details: detailsFromError(error) } };
}

const codesByHttpStatus: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [400, "invalidParams"],
  [401, "unauthenticated"],
  [403, "permissionDenied"],
  [404, "methodNotFound"],
  [405, "methodNotAllowed"],
  [408, "requestTimeout"],
  [413, "contentTooLarge"],
  [415, "unsupportedMediaType"],
  [429, "resourceExhausted"],
  [501, "methodNotFound"],
  [502, "unavailable"],
  [503, "unavailable"],
  [504, "deadlineExceeded"],
]);

// `error.status` distinguishes errors that share an HTTP status.
const codesByStatusName: ReadonlyMap<unknown, ErrorCode> = new Map<string, ErrorCode>([
  ["404 NOT_FOUND", "taskNotFound"],
  ["400 FAILED_PRECONDITION", "unsupportedOperation"],
]);

/**
 * Reads the body of a failed HTTP+JSON call: by `ErrorInfo.reason`, otherwise by a 0.3 problem type
 * (`…/task-not-found`), otherwise by the statuses. Never throws.
 */
export function errorFromHttp(status: number, json: JsonValue | undefined): A2AError {
  const body = isJsonObject(json) ? json : {};
  const error = isJsonObject(body["error"]) ? body["error"] : body;
  const text = readText(
    error["message"] ?? body["detail"] ?? body["title"],
    `the agent answered with HTTP status ${status}`,
  );
  const code =
    codeFromProblem(body["type"]) ??
    codesByStatusName.get(`${status} ${error["status"]}`) ??
    codeFromHttpStatus(status);
  return errorFromDetails(error["details"], text, code);
}

function codeFromHttpStatus(status: number): ErrorCode {
  return codesByHttpStatus.get(status) ?? (status >= 400 && status < 500 ? "invalidRequest" : "internalError");
}

function codeFromProblem(type: JsonValue | undefined): ErrorCode | undefined {
  if (typeof type !== "string") return undefined;
  const name = type.slice(type.lastIndexOf("/") + 1).replace(/-error$/, "");
  return errorCodeFromReason(name.replaceAll("-", "_").toUpperCase());
}

function readText(value: JsonValue | undefined, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}
