import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { detailsFromError, errorFromDetails } from "../../protocol/error-details.js";
import { type A2AError, changeError, type ErrorCode, errorCodeFromHttp, errorTable } from "../../protocol/errors.js";
import { grpcStatusNames } from "../../protocol/grpc-status.js";
import type { Operation } from "../../protocol/operations.js";
import { violationText } from "../../protocol/violations.js";
import { oldViolation } from "./json/paths.js";

// Errors of 0.3: their classes, then their forms over JSON-RPC and over HTTP+JSON.
//
// Over JSON-RPC they have no `data`: one of the two Go clients of 0.3 fails to decode a list there and the other an object,
// and both then lose the whole error. So the message carries what `data` would. Over HTTP+JSON the specification does not
// define the body, and each SDK has its own. We write a body that all SDKs can read, and read the bodies of all of them.

interface ErrorClass {
  readonly code: ErrorCode;
  readonly name: string;
  /** The message in the schema. */
  readonly text: string;
  /** All servers of 0.3 report these features with the gRPC status UNIMPLEMENTED, and their clients rely on it. */
  readonly isUnimplemented?: boolean;
  /** Some servers of 0.3 answer with it to a body that they cannot read. */
  readonly refusesBody?: boolean;
}

/** The errors that 0.3 defines, and the two of 1.0 whose numbers are unassigned in 0.3. */
const classes: readonly ErrorClass[] = [
  { code: "parseError", name: "JSONParseError", text: "Invalid JSON payload", refusesBody: true },
  { code: "invalidRequest", name: "InvalidRequestError", text: "Request payload validation error", refusesBody: true },
  { code: "methodNotFound", name: "MethodNotFoundError", text: "Method not found" },
  { code: "invalidParams", name: "InvalidParamsError", text: "Invalid parameters", refusesBody: true },
  { code: "internalError", name: "InternalError", text: "Internal error", refusesBody: true },
  { code: "taskNotFound", name: "TaskNotFoundError", text: "Task not found" },
  { code: "taskNotCancelable", name: "TaskNotCancelableError", text: "Task cannot be canceled" },
  {
    code: "pushNotificationNotSupported",
    name: "PushNotificationNotSupportedError",
    text: "Push Notification is not supported",
    isUnimplemented: true,
  },
  {
    code: "unsupportedOperation",
    name: "UnsupportedOperationError",
    text: "This operation is not supported",
    isUnimplemented: true,
  },
  { code: "contentTypeNotSupported", name: "ContentTypeNotSupportedError", text: "Incompatible content types" },
  { code: "invalidAgentResponse", name: "InvalidAgentResponseError", text: "Invalid agent response" },
  {
    code: "extendedAgentCardNotConfigured",
    name: "AuthenticatedExtendedCardNotConfiguredError",
    text: "Authenticated Extended Card is not configured",
  },
  { code: "extensionSupportRequired", name: "ExtensionSupportRequiredError", text: "Extension support required" },
  { code: "versionNotSupported", name: "VersionNotSupportedError", text: "Version not supported" },
];

const byCode = new Map(classes.map((each) => [each.code, each]));
const byNumber = new Map<unknown, ErrorCode>(classes.map(({ code }) => [errorTable[code].jsonRpc, code]));
const byName = new Map(classes.map(({ code, name }) => [name.toLowerCase(), code]));
const byText = new Map(classes.map(({ code, text }) => [text.toLowerCase(), code]));

// Nonstandard numbers that one family of peers uses to reject unauthorized callers.
const unauthenticatedNumber = -31401;
const permissionDeniedNumber = -31403;
byNumber.set(unauthenticatedNumber, "unauthenticated").set(permissionDeniedNumber, "permissionDenied");

/** Returns the class name of an error, or that of the closest class if 0.3 has none. */
export function findErrorClass(code: ErrorCode): string {
  const errorClass = byCode.get(code) ?? byCode.get(byNumber.get(errorTable[code].jsonRpc) ?? "internalError");
  return errorClass?.name ?? "InternalError";
}

/** Whether gRPC reports the error as UNIMPLEMENTED. */
export function isUnimplemented(code: ErrorCode): boolean {
  return byCode.get(code)?.isUnimplemented === true;
}

/** Whether the error may mean that a server could not read the body of a request. */
export function refusesBody(code: ErrorCode): boolean {
  return byCode.get(code)?.refusesBody === true;
}

/** Returns the error of a class name in any spelling: `TaskNotFoundError`, `task-not-found`, `TASK_NOT_FOUND`. */
export function findErrorByClass(name: string): ErrorCode | undefined {
  const plainName = name.replace(/[-_\s]/g, "").toLowerCase();
  return byName.get(plainName) ?? byName.get(`${plainName}error`) ?? otherNames.get(plainName.replace(/error$/, ""));
}

// Other names of the same errors in peers and later versions.
const otherNames: ReadonlyMap<string, ErrorCode> = new Map<string, ErrorCode>([
  ["parse", "parseError"],
  ["extendedcardnotconfigured", "extendedAgentCardNotConfigured"],
  ["extendedagentcardnotconfigured", "extendedAgentCardNotConfigured"],
  ["authenticatedextendedcardnotconfigured", "extendedAgentCardNotConfigured"],
]);

/** Returns the JSON-RPC number of an error. */
function findErrorNumber(code: ErrorCode): number {
  if (code === "unauthenticated") return unauthenticatedNumber;
  return code === "permissionDenied" ? permissionDeniedNumber : errorTable[code].jsonRpc;
}

const maxViolations = 3;

/** Returns the message of an error, with the first violations under their 0.3 field names. */
function writeErrorText(error: A2AError, operation: Operation | undefined): string {
  const { message, violations } = error;
  if (violations.length === 0 || operation === undefined) return message;
  const texts = violations.slice(0, maxViolations).map((each) => violationText(oldViolation(each, operation.name)));
  const more = violations.length > maxViolations ? `, and ${violations.length - maxViolations} more` : "";
  // The message already names the first field, under its name in the model.
  const [before = ""] = message.split(":", 1);
  return `${before}: ${texts.join(", ")}${more}`;
}

/** The `error` member of a JSON-RPC reply. */
export function jsonRpcFromError(error: A2AError, operation: Operation | undefined): JsonObject {
  // Clients of 0.1 use the same methods to read tasks and recognize this error only by the schema's text.
  const message = error.code === "taskNotFound" ? "Task not found" : writeErrorText(error, operation);
  return { code: findErrorNumber(error.code), message };
}

/**
 * Reads the `error` member of a JSON-RPC reply: by an `ErrorInfo` in `data`, otherwise by its number. If the number is
 * unspecific, by its text, which some servers send instead. Never throws.
 */
export function errorFromJsonRpc(error: JsonValue | undefined): A2AError {
  const { code: number, message, data } = isJsonObject(error) ? error : {};
  const text = typeof message === "string" ? message : "";
  const codeOfNumber = byNumber.get(number) ?? "internalError";
  const code = codeOfNumber === "internalError" ? (byText.get(text.toLowerCase()) ?? codeOfNumber) : codeOfNumber;
  // `data` may be an object that holds the detail list of 1.0.
  const details = isJsonObject(data) && Array.isArray(data["details"]) ? data["details"] : data;
  const result = errorFromDetails(details, text, code);
  if (text !== "") return result;
  return changeError(result, {
    message: byCode.get(result.code)?.text.toLowerCase() ?? "the agent answered with an error",
  });
}

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
  // Some bodies use this name for the HTTP status.
  if (typeof code === "number" && code < 0) return errorFromJsonRpc({ code, message: text }).code;
  const codeOfType = typeof type === "string" ? findErrorByClass(type.slice(type.lastIndexOf("/") + 1)) : undefined;
  if (codeOfType !== undefined) return codeOfType;
  const codeOfText = errorFromJsonRpc({ message: text }).code;
  if (codeOfText !== "internalError") return codeOfText;
  // Some servers reply to an unknown path with a body.
  const isOfAgent = readText(body["message"]) !== undefined || isJsonObject(body["error"]);
  if (status === 404) return isOfAgent ? "taskNotFound" : "methodNotFound";
  return codesByStatus.get(status) ?? errorCodeFromHttp(status);
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
  if (!isError) return undefined;
  const status = isJsonObject(error) ? error["code"] : undefined;
  return errorFromHttp(typeof status === "number" && status >= 400 ? status : 500, json);
}

function readText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
