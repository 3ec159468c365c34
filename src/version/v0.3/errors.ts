import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { errorFromDetails } from "../../protocol/error-details.js";
import { type A2AError, changeError, type ErrorCode, errorTable } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import { violationText } from "../../protocol/violations.js";
import { oldViolation } from "./json/paths.js";

// Errors of 0.3. Over JSON-RPC they have no `data`: one of the two Go clients of 0.3 fails to decode a list there and
// the other an object, and both then lose the whole error. So the message carries what `data` would.

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
export function findErrorNumber(code: ErrorCode): number {
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
  const result = errorFromDetails(readDetails(data), text, code);
  if (text !== "") return result;
  return changeError(result, {
    message: byCode.get(result.code)?.text.toLowerCase() ?? "the agent answered with an error",
  });
}

// `data` may be an object that holds the detail list of 1.0.
function readDetails(data: JsonValue | undefined): JsonValue | undefined {
  return isJsonObject(data) && Array.isArray(data["details"]) ? data["details"] : data;
}
