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

/** Writes the typed details of an error: always `ErrorInfo`, and `BadRequest` and `RetryInfo` if they apply. */
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

/**
 * Reads an error from the details that a peer sent. `fallback` is the code if they have no `ErrorInfo`. Never throws.
 */
export function errorFromDetails(details: JsonValue | undefined, message: string, fallback: ErrorCode): A2AError {
  const all = (Array.isArray(details) ? details : [details]).filter(isObject);
  const last = (name: string) => all.findLast((detail) => String(detail["@type"] ?? "").endsWith(name));
  const info = last("ErrorInfo");
  const seconds = Number.parseFloat(String(last("RetryInfo")?.["retryDelay"]));
  return new A2AError(errorCodeFromReason(String(info?.["reason"])) ?? fallback, message, {
    metadata: stringsOf(info?.["metadata"]),
    violations: violationsOf(last("BadRequest")?.["fieldViolations"]),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
  });
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
