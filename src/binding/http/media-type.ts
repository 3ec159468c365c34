import { A2AError } from "../../protocol/errors.js";
import { a2aMediaType } from "../../protocol/service-parameters.js";
import type { HttpRequest } from "./http.js";

export const jsonMediaType = "application/json";
export const eventStreamType = "text/event-stream";

/** The media type without its parameters, in lower case. */
export function mediaTypeOf(value: string | undefined): string {
  if (value === undefined) return "";
  if (value === jsonMediaType || value === a2aMediaType) return value;
  const end = value.indexOf(";");
  return (end < 0 ? value : value.slice(0, end)).trim().toLowerCase();
}

/**
 * Refuses a body that is not JSON by its head. Forms and plain text, which a page may send anywhere without asking, are
 * never executed; nor is a request of a page that names no type at all.
 */
export function assertJson(request: HttpRequest, bodyRequired: boolean): void {
  const encoding = request.header("content-encoding");
  if (encoding !== undefined && encoding !== "identity") throw unsupported(`content encoding ${shown(encoding)}`);
  const type = mediaTypeOf(request.header("content-type"));
  if (type === jsonMediaType || type === a2aMediaType) return;
  const empty = type === "" && !hasBody(request) && request.header("origin") === undefined;
  if (empty && !bodyRequired) return;
  throw unsupported(type === "" ? "a request without a content type" : `content type ${shown(type)}`);
}

function hasBody(request: HttpRequest): boolean {
  return request.header("transfer-encoding") !== undefined || (request.header("content-length") ?? "0") !== "0";
}

function unsupported(what: string): A2AError {
  return new A2AError("unsupportedMediaType", `${what} is not supported: send ${jsonMediaType} or ${a2aMediaType}`);
}

function shown(value: string): string {
  return value.slice(0, 64).replace(/[^\x20-\x7e]/g, "?");
}

/** The type of an HTTP+JSON reply: what `Accept` names first, else the type of the request, else the version's. */
export function replyTypeOf(request: HttpRequest, otherwise: string): string {
  return acceptedType(request.header("accept")) ?? jsonTypeOf(request.header("content-type")) ?? otherwise;
}

/** The type of an HTTP+JSON error: what `Accept` names first, else plain JSON, which every client reads. */
export function errorTypeOf(request: HttpRequest): string {
  return acceptedType(request.header("accept")) ?? jsonMediaType;
}

/** Whether a caller asks for event streams, and for nothing else by its name. */
export function wantsEventStream(request: HttpRequest): boolean {
  const ranges = request.header("accept")?.split(",").map(mediaTypeOf) ?? [];
  return ranges.includes(eventStreamType) && ranges.every((range) => range === eventStreamType || range === "*/*");
}

function acceptedType(accept: string | undefined): string | undefined {
  if (accept === undefined || accept === "*/*") return undefined;
  for (const range of accept.split(",")) {
    const type = jsonTypeOf(range);
    if (type !== undefined && !/;\s*q=0(\.0*)?\s*(;|$)/i.test(range)) return type;
  }
  return undefined;
}

function jsonTypeOf(value: string | undefined): string | undefined {
  const type = mediaTypeOf(value);
  return type === jsonMediaType || type === a2aMediaType ? type : undefined;
}
