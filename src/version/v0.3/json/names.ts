import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, setOwn } from "../../../protocol/codec/outline/dynamic.js";

// Two SDKs write the names of members of 0.3 in snake case.

/** Names inside free-form JSON belong to the caller. */
const freeFormNames: ReadonlySet<string> = new Set(["metadata", "data"]);

export const snakeCase = renamer((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

/** A member that is given in both spellings keeps the value of the camel case one. */
export const camelCase = renamer((name) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()));

/** The JSON with names in camel case. The same object if all of them are. */
export function withCamelNames(json: JsonValue): JsonValue {
  return hasSnakeName(json) ? camelCase(json) : json;
}

function hasSnakeName(json: JsonValue): boolean {
  if (Array.isArray(json)) return json.some(hasSnakeName);
  if (!isJsonObject(json)) return false;
  for (const name of Object.keys(json)) {
    if (name.includes("_")) return true;
    const value = json[name];
    if (typeof value === "object" && value !== null && !freeFormNames.has(name) && hasSnakeName(value)) return true;
  }
  return false;
}

function renamer(rename: (name: string) => string): (json: JsonValue) => JsonValue {
  const renameAll = (json: JsonValue): JsonValue => {
    if (Array.isArray(json)) return json.map(renameAll);
    if (!isJsonObject(json)) return json;
    const copy: JsonObject = {};
    for (const [name, value] of Object.entries(json)) {
      const newName = rename(name);
      if (newName !== name && Object.hasOwn(json, newName)) continue;
      setOwn(copy, newName, freeFormNames.has(name) ? value : renameAll(value));
    }
    return copy;
  };
  return renameAll;
}
