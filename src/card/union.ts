import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, setOwn } from "../protocol/codec/outline/dynamic.js";

/**
 * One card that readers of several versions understand, made of the pure card of each, the newest first. Every version
 * finds all of its members; where two of them have the same member in different forms the newest is heard.
 */
export function unionCard(cards: readonly JsonObject[]): JsonObject {
  return cards.reduce(merged, {});
}

function merged(newer: JsonObject, older: JsonObject): JsonObject {
  const union: JsonObject = { ...newer };
  for (const [name, value] of Object.entries(older)) {
    const known = Object.hasOwn(newer, name) ? newer[name] : undefined;
    setOwn(union, name, known === undefined ? value : mergedValue(known, value));
  }
  return union;
}

function mergedValue(newer: JsonValue, older: JsonValue): JsonValue {
  if (isJsonObject(newer) && isJsonObject(older)) return merged(newer, older);
  return Array.isArray(newer) && Array.isArray(older) ? newer.map((entry) => mergedEntry(entry, older)) : newer;
}

// Entries that say who they are, as skills do, are the same thing in both lists. Others may stand for anything: alternatives
// put together would ask for both.
function mergedEntry(entry: JsonValue, older: readonly JsonValue[]): JsonValue {
  if (!isJsonObject(entry) || typeof entry["id"] !== "string") return entry;
  const same = older.find((other) => isJsonObject(other) && other["id"] === entry["id"]);
  return isJsonObject(same) ? merged(entry, same) : entry;
}
