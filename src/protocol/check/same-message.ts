import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { findKeptJson } from "../codec/json/compact-value.js";
import { isObject } from "../kinds.js";

/** Whether two messages are equal, ignoring the order of keys in free JSON and unknown fields. */
export function isSameMessage(a: AnyMessage, b: AnyMessage): boolean {
  return isSame(a, b);
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  if (a instanceof Uint8Array !== b instanceof Uint8Array) return false;
  const json = findKeptJson(a);
  const other = findKeptJson(b);
  if (json !== undefined && other !== undefined) return isSame(json, other);
  const names = listNames(a);
  return names.length === listNames(b).length && names.every((name) => isSame(a[name], b[name]));
}

// An unset optional field may be present or absent.
function listNames(value: { readonly [name: string]: unknown }): string[] {
  return Object.keys(value).filter((name) => value[name] !== undefined && name !== "$unknown");
}
