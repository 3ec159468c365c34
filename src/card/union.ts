import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject, setOwn } from "../protocol/codec/outline/dynamic.js";

/**
 * One card for readers of several versions, merged from each version's pure card, newest first. Every version finds all
 * its members; where two versions have a member in different forms, the newest wins.
 */
export function unionCard(cards: readonly JsonObject[]): JsonObject {
  return cards.reduce(mergeObjects, {});
}

function mergeObjects(newer: JsonObject, older: JsonObject): JsonObject {
  const union: JsonObject = { ...newer };
  for (const [name, value] of Object.entries(older)) {
    const newerValue = Object.hasOwn(newer, name) ? newer[name] : undefined;
    setOwn(union, name, newerValue === undefined ? value : mergeValues(newerValue, value));
  }
  return union;
}

function mergeValues(newer: JsonValue, older: JsonValue): JsonValue {
  if (isJsonObject(newer) && isJsonObject(older)) return mergeObjects(newer, older);
  return Array.isArray(newer) && Array.isArray(older) ? newer.map((entry) => mergeEntry(entry, older)) : newer;
}

// Entries with an id, such as skills, are the same thing in both lists. Others may mean anything: merging alternatives
// would require both.
function mergeEntry(entry: JsonValue, older: readonly JsonValue[]): JsonValue {
  if (!isJsonObject(entry) || typeof entry["id"] !== "string") return entry;
  const counterpart = older.find((other) => isJsonObject(other) && other["id"] === entry["id"]);
  return isJsonObject(counterpart) ? mergeObjects(entry, counterpart) : entry;
}
