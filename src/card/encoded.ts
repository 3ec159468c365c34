import { createHash } from "node:crypto";

/** A body with its entity tag. */
export interface EncodedBody {
  readonly body: Uint8Array;
  /** Including its quotes. */
  readonly etag: string;
}

export function encode(text: string): EncodedBody {
  const body = new TextEncoder().encode(text);
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"` };
}

/** Returns the cached value of a key, or makes it. Keeps the values of the `maxKeys` most recently used keys. */
export function cacheRecent<T extends object>(maxKeys: number): (key: string, make: () => T) => T {
  const values = new Map<string, T>();
  return (key, make) => {
    const value = values.get(key) ?? make();
    // A map keeps insertion order: the first key is the least recently used.
    values.delete(key);
    values.set(key, value);
    const [oldest] = values.keys();
    if (values.size > maxKeys && oldest !== undefined) values.delete(oldest);
    return value;
  };
}
