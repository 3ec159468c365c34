import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError } from "../../protocol/errors.js";
import { parseJson } from "../http/call.js";

/** A JSON-RPC 2.0 request. */
export interface RpcRequest {
  /** JSON text, echoed as it came; `null` if the request has none. */
  readonly id: string;
  readonly hasId: boolean;
  /** Whether the request has the member `jsonrpc`. */
  readonly hasVersion: boolean;
  readonly method: string;
  readonly params: JsonValue | undefined;
}

/** The id of a response to a request whose id is missing or unreadable. */
export const noId = "null";

/**
 * Parses a request. `onId` is called as soon as the id is known, so that the error for a request that is otherwise
 * invalid carries it. An id of `null` is accepted, because peers of older versions send it.
 */
export function readRpcRequest(text: string, onId: (id: string) => void): RpcRequest {
  const json = parseJson(text);
  if (Array.isArray(json)) throw invalidRequest("batches are not supported: send one request object");
  if (!isJsonObject(json)) throw invalidRequest("the body must be a request object");
  const id = idText(json["id"], text);
  if (id === undefined && json["id"] !== undefined) throw noRpcId();
  if (id !== undefined) onId(id);
  const { jsonrpc, method, params } = json;
  if (jsonrpc !== undefined && jsonrpc !== "2.0") throw invalidVersion();
  if (typeof method !== "string") throw invalidRequest("the member method must be a string");
  return { id: id ?? noId, hasId: id !== undefined, hasVersion: jsonrpc !== undefined, method, params };
}

/** Refuses what only older versions accept: requests without `id` or `jsonrpc`. */
export function assertComplete({ hasId, hasVersion }: RpcRequest): void {
  if (!hasId) throw noRpcId();
  if (!hasVersion) throw invalidVersion();
}

function noRpcId(): A2AError {
  return invalidRequest("the request needs an id that is a string, a number or null");
}

function invalidVersion(): A2AError {
  return invalidRequest('the member jsonrpc must be "2.0"');
}

function invalidRequest(message: string): A2AError {
  return new A2AError("invalidRequest", message);
}

function idText(id: JsonValue | undefined, text: string): string | undefined {
  if (typeof id === "number") return Number.isSafeInteger(id) ? String(id) : (numberText(text) ?? String(id));
  return typeof id === "string" || id === null ? JSON.stringify(id) : undefined;
}

/** `"id"` with both letters escaped. */
const longestIdKey = 14;
/** The rest of a member after its key: the colon and, if the value is a number, its digits. */
const numberMember = /\s*:\s*(-?\d[\d.eE+-]*)?/y;

/**
 * Returns the digits of a number id that a double cannot hold, as written in the request, which is valid JSON. Scans
 * the text once and keeps nothing: parsing again with a reviver costs a second for a request of some megabytes.
 */
function numberText(text: string): string | undefined {
  let depth = 0;
  let digits: string | undefined;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (char !== '"') continue;
    const end = stringEnd(text, at);
    if (depth === 1 && isIdKey(text.slice(at, Math.min(end, at + longestIdKey) + 1))) {
      numberMember.lastIndex = end + 1;
      // If several members have the same name, the last one counts.
      digits = numberMember.exec(text)?.[1] ?? digits;
    }
    at = end;
  }
  return digits;
}

function isIdKey(key: string): boolean {
  return key.length <= longestIdKey && JSON.parse(key) === "id";
}

/** Returns the position of the quote that ends the string beginning at `start`. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text[at - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return at;
  }
}
