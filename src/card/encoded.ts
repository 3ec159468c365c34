import { createHash } from "node:crypto";

/** A body with its entity tag. */
export interface Encoded {
  readonly body: Uint8Array;
  /** Including its quotes. */
  readonly etag: string;
}

export function encode(text: string): Encoded {
  const body = new TextEncoder().encode(text);
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"` };
}

/** Returns what was made for a key, or makes it. Keeps the values of the `most` keys that were asked for last. */
export function keepRecent<T extends object>(most: number): (key: string, make: () => T) => T {
  const kept = new Map<string, T>();
  return (key, make) => {
    const value = kept.get(key) ?? make();
    // A map keeps insertion order: the first key is the least recently used.
    kept.delete(key);
    kept.set(key, value);
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) kept.delete(oldest);
    return value;
  };
}
