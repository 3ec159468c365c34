import type { HttpReply } from "./http.js";
import type { NodeIncoming } from "./request-body.js";

// A request with two hosts is ambiguous: a proxy may check one and the server use the other (RFC 9112 section 3.2, RFC
// 9113 section 8.3.1). Node silently keeps the first.

/** The reply to a request with more than one host. The rest of the request is not read. */
export const conflictingHosts: HttpReply = {
  status: 400,
  headers: { "Content-Type": "text/plain" },
  body: "the request has two hosts: send one `Host` header, or one `:authority`\n",
};

/**
 * Whether a request has several `Host` headers, or one that differs from the host of its target: over HTTP/2 its
 * `:authority`, over HTTP/1.1 a whole URL.
 */
export function hasConflictingHosts({ headers, rawHeaders = [], url = "/" }: NodeIncoming): boolean {
  const authority = headers[":authority"];
  if (typeof authority === "string") return (headers.host ?? authority).toLowerCase() !== authority.toLowerCase();
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1 || (!url.startsWith("/") && isElsewhere(url, headers.host ?? ""));
}

/** Whether a target that is a whole URL is at another host. */
function isElsewhere(target: string, host: string): boolean {
  const url = URL.parse(target);
  return url !== null && url.host !== URL.parse(`${url.protocol}//${host}`)?.host;
}
