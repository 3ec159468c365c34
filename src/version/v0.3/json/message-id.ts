import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";

/** Differences below this depth do not affect the id. */
const maxDepth = 8;

/**
 * Returns an id for a message without one. It is a hash of the content, so that every read gives the same id: readers
 * use ids to recognize messages.
 */
export function deriveMessageId(json: JsonValue): string {
  const hash = new Hash();
  addJson(hash, json, 0);
  return `anonymous-${hash.text()}`;
}

function addJson(hash: Hash, json: JsonValue, depth: number): void {
  if (depth > maxDepth) return;
  if (Array.isArray(json)) {
    hash.add("[");
    for (const entry of json) addJson(hash, entry, depth + 1);
  } else if (isJsonObject(json)) {
    hash.add("{");
    for (const key of Object.keys(json).sort((one, other) => (one < other ? -1 : 1))) {
      hash.add(key);
      addJson(hash, json[key] ?? null, depth + 1);
    }
  } else {
    hash.add(JSON.stringify(json));
  }
}

// Two FNV-1a hashes with different seeds: 64 bits without crypto, which browsers offer only asynchronously.
class Hash {
  #high = 0x811c9dc5;
  #low = 0x01000193;

  add(text: string): void {
    for (let index = 0; index <= text.length; index++) {
      // An end marker, so that "ab", "c" and "a", "bc" differ.
      const unit = index === text.length ? 0xffff : text.charCodeAt(index);
      this.#high = Math.imul(this.#high ^ unit, 0x01000193);
      this.#low = Math.imul(this.#low ^ unit, 0x85ebca6b);
    }
  }

  text(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }
}
