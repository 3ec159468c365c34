import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  A2AError,
  type ErrorCode,
  errorCodeFromReason,
  errorDomain,
  errorTable,
  type FieldViolation,
} from "./errors.js";

// The JSON form of google.rpc details, shared by JSON-RPC (`error.data`) and HTTP+JSON (`error.details`): spec 9.5, 11.6.

const typeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`;

/** Writes the typed details of an error: `ErrorInfo` always, `BadRequest` and `RetryInfo` when there is something to say. */
export function detailsFromError(error: A2AError): JsonObject[] {
  const info: JsonObject = {
    "@type": typeUrl("ErrorInfo"),
    reason: errorTable[error.code].reason,
    domain: errorDomain,
  };
  if (Object.keys(error.metadata).length > 0) info["metadata"] = { ...error.metadata };
  const details: JsonObject[] = [info];
  if (error.violations.length > 0) {
    details.push({
      "@type": typeUrl("BadRequest"),
      fieldViolations: error.violations.map(({ field, description }) => ({ field, description })),
    });
  }
  if (error.retryAfterMs !== undefined) {
    details.push({ "@type": typeUrl("RetryInfo"), retryDelay: `${error.retryAfterMs / 1000}s` });
  }
  return details;
}

/** Reads what a peer says of an error. `fallback` names the code when no `ErrorInfo` does. Never throws. */
export function errorFromDetails(details: JsonValue | undefined, message: string, fallback: ErrorCode): A2AError {
  let code = fallback;
  let metadata: Record<string, string> = {};
  let violations: FieldViolation[] = [];
  let retryAfterMs: number | undefined;
  for (const detail of Array.isArray(details) ? details : [details]) {
    if (!isObject(detail)) continue;
    const type = String(detail["@type"] ?? "");
    if (type.endsWith("ErrorInfo")) {
      code = errorCodeFromReason(String(detail["reason"])) ?? fallback;
      metadata = stringsOf(detail["metadata"]);
    } else if (type.endsWith("BadRequest")) {
      violations = violationsOf(detail["fieldViolations"]);
    } else if (type.endsWith("RetryInfo")) {
      const seconds = Number.parseFloat(String(detail["retryDelay"]));
      if (Number.isFinite(seconds)) retryAfterMs = seconds * 1000;
    }
  }
  return new A2AError(code, message, { metadata, violations, retryAfterMs });
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stringsOf(value: JsonValue | undefined): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, String(entry)]));
}

function violationsOf(value: JsonValue | undefined): FieldViolation[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter(isObject)
    .map((entry) => ({ field: String(entry["field"] ?? ""), description: String(entry["description"] ?? "") }));
}
