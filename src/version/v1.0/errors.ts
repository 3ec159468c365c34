import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { detailsFromError, errorFromDetails } from "../../protocol/error-details.js";
import {
  type A2AError,
  type ErrorCode,
  errorCodeFromGrpc,
  errorCodeFromHttp,
  errorCodeFromJsonRpc,
  errorCodeFromReason,
  errorTable,
} from "../../protocol/errors.js";
import { grpcStatusNames } from "../../protocol/grpc-status.js";

// Errors of 1.0 on the two JSON bindings, in both directions (spec 5.4, 5.5). Readers also accept the forms of older
// and nonconforming servers.

/** The `error` member of a JSON-RPC reply. */
export function jsonRpcFromError(error: A2AError): JsonObject {
  return { code: errorTable[error.code].jsonRpc, message: error.message, data: detailsFromError(error) };
}

/** Reads the `error` member of a JSON-RPC reply, by `ErrorInfo.reason`, otherwise by its number. Never throws. */
export function errorFromJsonRpc(error: JsonValue | undefined): A2AError {
  const { code, message, data } = isJsonObject(error) ? error : {};
  return errorFromDetails(
    data,
    readText(message, "the agent answered with an error"),
    errorCodeFromJsonRpc(code) ?? "internalError",
  );
}

/** The body of a failed HTTP+JSON call. */
export function httpBodyFromError(error: A2AError): JsonObject {
  const { http, grpc } = errorTable[error.code];
  const status = grpcStatusNames[grpc] ?? "UNKNOWN";
  return { error: { code: http, status, message: error.message, details: detailsFromError(error) } };
}

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
  const code = codeFromProblem(body["type"]) ?? codeFromStatuses(status, error["status"]);
  return errorFromDetails(error["details"], text, code);
}

// `error.status` distinguishes errors that share an HTTP status.
function codeFromStatuses(status: number, name: JsonValue | undefined): ErrorCode {
  const code = errorCodeFromGrpc((grpcStatusNames as readonly unknown[]).indexOf(name));
  return errorTable[code].http === status ? code : errorCodeFromHttp(status);
}

function codeFromProblem(type: JsonValue | undefined): ErrorCode | undefined {
  if (typeof type !== "string") return undefined;
  const name = type.slice(type.lastIndexOf("/") + 1).replace(/-error$/, "");
  return errorCodeFromReason(name.replaceAll("-", "_").toUpperCase());
}

function readText(value: JsonValue | undefined, otherwise: string): string {
  return typeof value === "string" && value !== "" ? value : otherwise;
}
