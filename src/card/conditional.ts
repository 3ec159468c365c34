import type { HttpRequest } from "../binding/http/http.js";

/** Validators of a cached reply, for conditional requests (RFC 9110, 8.8). */
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
