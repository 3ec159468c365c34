import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, setOwn } from "../../../protocol/codec/outline/dynamic.js";

// Two SDKs write the names of members of 0.3 in snake case.

/** Names inside free-form JSON belong to the caller. */
const freeFormNames: ReadonlySet<string> = new Set(["metadata", "data"]);
/** Members of the protocol are not nested as deep as this. Peers choose how deep JSON is, so what is deeper is not walked. */
const deepest = 32;

export const snakeCase = renamer((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

/** A member that is given in both spellings keeps the value of the camel case one. */
export const camelCase = renamer((name) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()));

/** The JSON with names in camel case. The same object if all of them are. */
export function withCamelNames(json: JsonValue): JsonValue {
  return hasSnakeName(json) ? camelCase(json) : json;
}

function hasSnakeName(json: JsonValue, depth = 1): boolean {
  if (depth > deepest) return false;
  if (Array.isArray(json)) return json.some((each) => hasSnakeName(each, depth + 1));
  if (!isJsonObject(json)) return false;
  for (const name of Object.keys(json)) {
    if (name.includes("_")) return true;
    const value = json[name];
    if (value !== undefined && !freeFormNames.has(name) && hasSnakeName(value, depth + 1)) return true;
  }
  return false;
}

function renamer(rename: (name: string) => string): (json: JsonValue) => JsonValue {
  const renameAll = (json: JsonValue, depth: number): JsonValue => {
    if (depth > deepest) return json;
    if (Array.isArray(json)) return json.map((each) => renameAll(each, depth + 1));
    if (!isJsonObject(json)) return json;
    const copy: JsonObject = {};
    for (const [name, value] of Object.entries(json)) {
      const newName = rename(name);
      if (newName !== name && Object.hasOwn(json, newName)) continue;
      setOwn(copy, newName, freeFormNames.has(name) ? value : renameAll(value, depth + 1));
    }
    return copy;
  };
  return (json) => renameAll(json, 1);
}
