import type { HttpRequest } from "../binding/http/http.js";

/** What a cache keeps beside a reply, to ask whether it has changed (RFC 9110, 8.8). */
export interface Validators {
  /** With its quotes. */
  readonly etag: string;
  readonly lastModified: Date;
}

/** True when the caller has the reply already: 304. A tag, when there is one, decides alone (RFC 9110, 13.2.2). */
export function isFresh(request: Pick<HttpRequest, "header">, { etag, lastModified }: Validators): boolean {
  const tags = request.header("if-none-match");
  if (tags !== undefined) return tags.trim() === "*" || tagsIn(tags).includes(etag);
  const since = request.header("if-modified-since") ?? "";
  // `Date.parse` takes more than HTTP dates, and what is no HTTP date has to be ignored.
  if (!since.endsWith(" GMT")) return false;
  return Math.floor(lastModified.getTime() / 1000) * 1000 <= Date.parse(since);
}

/** Strong and weak tags alike, since the comparison is weak. */
function tagsIn(header: string): readonly string[] {
  return Array.from(header.matchAll(/(?:W\/)?("[^"]*")/g), ([, tag = ""]) => tag);
}
