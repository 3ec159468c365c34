import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { detailsFromError, errorFromDetails } from "../../../protocol/error-details.js";
import { type A2AError, type ErrorCode, errorCodeFromHttp, errorTable } from "../../../protocol/errors.js";
import { grpcStatusNames } from "../../../protocol/grpc-status.js";
import { errorFromJsonRpc, findErrorByClass, findErrorClass, findErrorNumber } from "../errors.js";

// Errors of 0.3 over HTTP+JSON. The specification does not define their body, and each SDK has its own. We write a body
// that all SDKs can read, and read the bodies of all of them.

/** Returns a body that every client family can read. */
export function httpBodyFromError(error: A2AError): JsonObject {
  const { code, message } = error;
  const { http, grpc } = errorTable[code];
  const status = grpcStatusNames[grpc] ?? "UNKNOWN";
  return {
    code: findErrorNumber(code),
    message,
    type: findErrorClass(code),
    error: { code: http, status, message, details: detailsFromError(error) },
  };
}

/**
 * Reads the body of a failed call: by its number or reason, otherwise by a class name, by its text, or by the status.
 * Never throws.
 */
export function errorFromHttp(status: number, json: JsonValue | undefined): A2AError {
  const body = isJsonObject(json) ? json : {};
  const inner = isJsonObject(body["error"]) ? body["error"] : body;
  const message = readText(body["message"]) ?? readText(inner["message"]) ?? readText(body["detail"] ?? body["title"]);
  const text = message ?? `the agent answered with HTTP status ${status}`;
  const details = inner["details"] ?? body["data"];
  return errorFromDetails(details, text, findCode(status, body, message ?? ""));
}

function findCode(status: number, body: JsonObject, text: string): ErrorCode {
  const { code, type } = body;
  if (isNumberOfError(code)) return errorFromJsonRpc({ code, message: text }).code;
  const codeOfType = typeof type === "string" ? findErrorByClass(type.slice(type.lastIndexOf("/") + 1)) : undefined;
  if (codeOfType !== undefined) return codeOfType;
  const codeOfText = errorFromJsonRpc({ message: text }).code;
  if (codeOfText !== "internalError") return codeOfText;
  // Some servers reply to an unknown path with a body.
  const isOfAgent = readText(body["message"]) !== undefined || isJsonObject(body["error"]);
  if (status === 404) return isOfAgent ? "taskNotFound" : "methodNotFound";
  return codesByStatus.get(status) ?? errorCodeFromHttp(status);
}

/** Some bodies use this name for the HTTP status. */
function isNumberOfError(code: JsonValue | undefined): code is number {
  return typeof code === "number" && code < 0;
}

/** Errors of 0.3 for statuses that mean another error in later versions, or none. */
const codesByStatus: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [409, "taskNotCancelable"],
  [415, "contentTypeNotSupported"],
  [422, "invalidParams"],
  [501, "unsupportedOperation"],
]);

/** Returns the error in an event of a stream, in either of two known forms, or `undefined` for other events. */
export function errorFromEvent(json: JsonValue): A2AError | undefined {
  if (!isJsonObject(json)) return undefined;
  const { error, code, message } = json;
  const isError = isJsonObject(error) || (typeof code === "number" && typeof message === "string");
  return isError ? errorFromHttp(readStatus(isJsonObject(error) ? error["code"] : undefined), json) : undefined;
}

function readStatus(code: JsonValue | undefined): number {
  return typeof code === "number" && code >= 400 ? code : 500;
}

function readText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
