import { createHash } from "node:crypto";
import type { HttpRequest } from "../binding/http/http.js";

// Replies that are encoded once and sent again: the body with its entity tag, a cache of such bodies, and the check of a
// conditional request (RFC 9110, 8.8 and 13).

/** Validators of a cached reply. */
export interface Validators {
  /** Including its quotes. */
  readonly etag: string;
  readonly lastModified?: Date | undefined;
}

/** True when the caller already has the reply: 304. An entity tag, if present, decides alone (RFC 9110, 13.2.2). */
export function isFresh(request: Pick<HttpRequest, "header">, { etag, lastModified }: Validators): boolean {
  const tags = request.header("if-none-match");
  if (tags !== undefined) return tags.trim() === "*" || tagsIn(tags).includes(etag);
  const since = request.header("if-modified-since") ?? "";
  // `Date.parse` accepts more than HTTP dates, and anything else must be ignored.
  if (lastModified === undefined || !since.endsWith(" GMT")) return false;
  return Math.floor(lastModified.getTime() / 1000) * 1000 <= Date.parse(since);
}

/** Strong and weak tags, since the comparison is weak. */
function tagsIn(header: string): readonly string[] {
  return Array.from(header.matchAll(/(?:W\/)?("[^"]*")/g), ([, tag = ""]) => tag);
}

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
