import type { HttpReply } from "./http.js";
import type { NodeIncoming } from "./node-body.js";

// A request with two hosts is ambiguous: a proxy may check one and the server use the other (RFC 9112 section 3.2, RFC
// 9113 section 8.3.1). Node silently keeps the first.

/** The reply to a request with more than one host. The rest of the request is not read. */
export const twoHosts: HttpReply = {
  status: 400,
  headers: { "Content-Type": "text/plain" },
  body: "the request has two hosts: send one `Host` header, or one `:authority`\n",
};

/** Whether a request has several `Host` headers or, over HTTP/2, a `Host` that differs from its `:authority`. */
export function namesTwoHosts({ headers, rawHeaders = [] }: Pick<NodeIncoming, "headers" | "rawHeaders">): boolean {
  const authority = headers[":authority"];
  if (typeof authority === "string") return (headers.host ?? authority).toLowerCase() !== authority.toLowerCase();
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts > 1;
}
