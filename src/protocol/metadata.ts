import type { JsonObject } from "@bufbuild/protobuf";
import { setOwn } from "./codec/outline/dynamic.js";

/** Gives metadata with further members, which replace those of the same name. */
export type MergeMetadata = (before: JsonObject | undefined, added: JsonObject) => JsonObject;

/** Merges into a new object, which costs as much as both have. */
export const mergedMetadata: MergeMetadata = (before, added) => ({ ...before, ...added });

/**
 * Merges into the objects that it made before, which costs as much as is added. For a fold that shares its metadata
 * with nobody.
 */
export function mergeInPlace(): MergeMetadata {
  const made = new WeakSet<JsonObject>();
  return (before, added) => {
    if (before === undefined || !made.has(before)) {
      const merged = mergedMetadata(before, added);
      made.add(merged);
      return merged;
    }
    for (const key of Object.keys(added)) setOwn(before, key, added[key] ?? null);
    return before;
  };
}
