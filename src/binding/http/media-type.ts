import { A2AError } from "../../protocol/errors.js";
import { a2aMediaType } from "../../protocol/service-parameters.js";
import type { HttpRequest } from "./http.js";

export const jsonMediaType = "application/json";
export const eventStreamType = "text/event-stream";

/** Returns the media type without parameters, in lower case. */
export function readMediaType(value: string | undefined): string {
  if (value === undefined) return "";
  if (value === jsonMediaType || value === a2aMediaType) return value;
  const end = value.indexOf(";");
  return (end < 0 ? value : value.slice(0, end)).trim().toLowerCase();
}

const acceptedTypes = `${jsonMediaType}, ${a2aMediaType}`;

/**
 * Refuses a request whose headers do not announce JSON. A page may send forms and plain text to any origin without a
 * preflight, so they are never executed; nor is a page's request without a content type.
 */
export function assertJson(request: HttpRequest, bodyRequired: boolean): void {
  const encoding = readContentEncoding(request);
  if (encoding !== "identity" && encoding !== "gzip") {
    throw new A2AError(
      "unsupportedMediaType",
      `unsupported content encoding ${toPrintable(encoding)} (accepted: gzip, identity)`,
    );
  }
  const type = readMediaType(request.header("content-type"));
  if (type === jsonMediaType || type === a2aMediaType) return;
  const empty = type === "" && !hasBody(request) && request.header("origin") === undefined;
  if (empty && !bodyRequired) return;
  throw new A2AError(
    "unsupportedMediaType",
    type === ""
      ? `the request has no content type (accepted: ${acceptedTypes})`
      : `unsupported content type ${toPrintable(type)} (accepted: ${acceptedTypes})`,
  );
}

/** The content encoding of a request in lower case: `identity` if it names none, `gzip` for the old name `x-gzip`. */
export function readContentEncoding(request: HttpRequest): string {
  const encoding = request.header("content-encoding")?.trim().toLowerCase() ?? "";
  if (encoding === "") return "identity";
  return encoding === "x-gzip" ? "gzip" : encoding;
}

function hasBody(request: HttpRequest): boolean {
  return request.header("transfer-encoding") !== undefined || (request.header("content-length") ?? "0") !== "0";
}

/** A header value for an error text: printable ASCII, at most 64 characters. */
export function toPrintable(value: string): string {
  return value.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
}

/** The type of an HTTP+JSON reply: the first JSON type in `Accept`, else the request's type, else `otherwise`. */
export function chooseReplyType(request: HttpRequest, otherwise: string): string {
  return acceptedType(request.header("accept")) ?? readJsonType(request.header("content-type")) ?? otherwise;
}

/** The type of an HTTP+JSON error: the first JSON type in `Accept`, else plain JSON, which every client reads. */
export function chooseErrorType(request: HttpRequest): string {
  return acceptedType(request.header("accept")) ?? jsonMediaType;
}

/** Whether `Accept` names event streams and, apart from wildcards, no other type. */
export function wantsEventStream(request: HttpRequest): boolean {
  const ranges = request.header("accept")?.split(",").map(readMediaType) ?? [];
  return ranges.includes(eventStreamType) && ranges.every((range) => range === eventStreamType || range === "*/*");
}

function acceptedType(accept: string | undefined): string | undefined {
  if (accept === undefined || accept === "*/*") return undefined;
  for (const range of accept.split(",")) {
    const type = readJsonType(range);
    if (type !== undefined && !/;\s*q=0(\.0*)?\s*(;|$)/i.test(range)) return type;
  }
  return undefined;
}

function readJsonType(value: string | undefined): string | undefined {
  const type = readMediaType(value);
  return type === jsonMediaType || type === a2aMediaType ? type : undefined;
}
