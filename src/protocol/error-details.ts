import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "./codec/outline/dynamic.js";
import {
  A2AError,
  type ErrorCode,
  type ErrorOptions,
  errorCodeFromReason,
  errorDomain,
  errorTable,
  type FieldViolation,
  ownReason,
} from "./errors.js";

// The JSON form of google.rpc details, shared by JSON-RPC (`error.data`) and HTTP+JSON (`error.details`): spec 9.5, 11.6.

const typeUrl = (name: string): string => `type.googleapis.com/google.rpc.${name}`;

/** `google.rpc.ErrorInfo`. */
export interface ErrorInfo {
  readonly reason: string;
  readonly domain: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/**
 * The `ErrorInfo` details of an error. The protocol's reason comes first, since peers tell errors apart by it; one of
 * the sender's own follows, with the metadata.
 */
export function createErrorInfos(error: A2AError): readonly ErrorInfo[] {
  const { reason, domain } = ownReason(error);
  const { metadata } = error;
  const info = { reason: errorTable[error.code].reason, domain: errorDomain, metadata };
  if (reason === undefined || domain === undefined) return [info];
  return [
    { ...info, metadata: {} },
    { reason, domain, metadata },
  ];
}

/** Reads the `ErrorInfo` details of a peer. `fallback` is the code if none of them has a reason of the protocol. */
export function readErrorInfos(
  infos: readonly ErrorInfo[],
  fallback: ErrorCode,
): Pick<ErrorOptions, "reason" | "domain" | "metadata"> & { readonly code: ErrorCode } {
  const protocolInfo = infos.findLast((info) => findCode(info) !== undefined);
  const ownInfo = infos.findLast((info) => findCode(info) === undefined && info.reason !== "");
  const code = (protocolInfo && findCode(protocolInfo)) ?? fallback;
  const metadata = { ...protocolInfo?.metadata, ...ownInfo?.metadata };
  return ownInfo === undefined
    ? { code, metadata }
    : { code, metadata, reason: ownInfo.reason, domain: ownInfo.domain };
}

// Some peers leave out the domain.
function findCode({ reason, domain }: ErrorInfo): ErrorCode | undefined {
  return domain === errorDomain || domain === "" ? errorCodeFromReason(reason) : undefined;
}

/** Writes the typed details of an error: always `ErrorInfo`, and `BadRequest` and `RetryInfo` if they apply. */
export function detailsFromError(error: A2AError): JsonObject[] {
  const details = createErrorInfos(error).map(({ reason, domain, metadata }): JsonObject => {
    const info = { "@type": typeUrl("ErrorInfo"), reason, domain };
    return Object.keys(metadata).length > 0 ? { ...info, metadata: { ...metadata } } : info;
  });
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
  const all = (Array.isArray(details) ? details : [details]).filter(isJsonObject);
  const every = (name: string) => all.filter((detail) => String(detail["@type"] ?? "").endsWith(name));
  const last = (name: string) => every(name).at(-1);
  const { code, ...info } = readErrorInfos(every("ErrorInfo").map(readInfo), fallback);
  const seconds = Number.parseFloat(String(last("RetryInfo")?.["retryDelay"]));
  return new A2AError(code, message, {
    ...info,
    violations: readViolations(last("BadRequest")?.["fieldViolations"]),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
  });
}

function readInfo({ reason, domain, metadata }: JsonObject): ErrorInfo {
  return { reason: readString(reason), domain: readString(domain), metadata: readStrings(metadata) };
}

function readString(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function readStrings(value: JsonValue | undefined): Record<string, string> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, String(entry)]));
}

function readViolations(value: JsonValue | undefined): FieldViolation[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter(isJsonObject)
    .map((entry) => ({ field: String(entry["field"] ?? ""), description: String(entry["description"] ?? "") }));
}
