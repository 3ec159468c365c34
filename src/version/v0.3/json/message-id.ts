import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";

/** Deeper than this two messages are not told apart. */
const maxDepth = 8;

/**
 * An id for a message that its sender has given none. Made of what the message says, so that it is the same whenever and
 * wherever the message is read again: readers tell by ids which messages they know.
 */
export function messageIdOf(json: JsonValue): string {
  const hash = new Hash();
  feed(hash, json, 0);
  return `anonymous-${hash.text()}`;
}

function feed(hash: Hash, json: JsonValue, depth: number): void {
  if (depth > maxDepth) return;
  if (Array.isArray(json)) {
    hash.add("[");
    for (const entry of json) feed(hash, entry, depth + 1);
  } else if (isJsonObject(json)) {
    hash.add("{");
    for (const key of Object.keys(json).sort((one, other) => (one < other ? -1 : 1))) {
      hash.add(key);
      feed(hash, json[key] ?? null, depth + 1);
    }
  } else {
    hash.add(JSON.stringify(json));
  }
}

// FNV-1a twice, from two beginnings: 64 bits that need no crypto, which pages have only asynchronously.
class Hash {
  #high = 0x811c9dc5;
  #low = 0x01000193;

  add(text: string): void {
    for (let index = 0; index <= text.length; index++) {
      // One beyond the end, so that "ab", "c" and "a", "bc" differ.
      const unit = index === text.length ? 0xffff : text.charCodeAt(index);
      this.#high = Math.imul(this.#high ^ unit, 0x01000193);
      this.#low = Math.imul(this.#low ^ unit, 0x85ebca6b);
    }
  }

  text(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }
}
