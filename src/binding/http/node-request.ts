import type { ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { HttpRequest } from "./http.js";
import { type NodeIncoming, type ParsedBody, parsedBodyOf, readNodeBody } from "./node-body.js";

export type NodeResponse = ServerResponse | Http2ServerResponse;

/** True when the peer no longer reads the reply. */
export function isGone(res: NodeResponse): boolean {
  return "stream" in res ? res.stream.destroyed : res.destroyed;
}

/** Where a request points to: the path still encoded, and what stands behind `?`. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

/** Splits a request target; the absolute form that proxies use is cut down to its path. */
export function splitTarget(url: string): Target {
  const start = url.startsWith("/") ? 0 : pathStart(url);
  const mark = url.indexOf("?", start);
  if (mark < 0) return { path: start === 0 ? url : url.slice(start), query: "" };
  return { path: url.slice(start, mark), query: url.slice(mark + 1) };
}

function pathStart(url: string): number {
  const scheme = url.indexOf("://");
  if (scheme < 0) return 0;
  const slash = url.indexOf("/", scheme + 3);
  return slash < 0 ? url.length : slash;
}

export interface NodeRequestOptions extends Target {
  readonly bodyTimeoutMs: number;
  /** What a body parser left on the request of a framework. Default: the properties `body` and `rawBody` of `req`. */
  readonly parsed?: ParsedBody | undefined;
}

/** A request of Node's HTTP/1.1 or HTTP/2 server, as an endpoint sees it. */
export class NodeRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly #req: NodeIncoming;
  readonly #res: NodeResponse;
  readonly #options: NodeRequestOptions;

  constructor(req: NodeIncoming, res: NodeResponse, options: NodeRequestOptions) {
    this.method = req.method ?? "GET";
    this.path = options.path;
    this.query = options.query;
    this.#req = req;
    this.#res = res;
    this.#options = options;
  }

  get secure(): boolean {
    return "encrypted" in this.#req.socket && this.#req.socket.encrypted === true;
  }

  get remoteAddress(): string | undefined {
    return this.#req.socket.remoteAddress;
  }

  header(name: string): string | undefined {
    const { headers } = this.#req;
    // In HTTP/2 the target says the host; a field beside it may say something else.
    const value = (name === "host" ? headers[":authority"] : undefined) ?? headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  body(maxBytes: number): Promise<Uint8Array> {
    const { parsed, bodyTimeoutMs } = this.#options;
    return readNodeBody(this.#req, parsed ?? parsedBodyOf(this.#req), { maxBytes, timeoutMs: bodyTimeoutMs });
  }

  onLeave(listener: () => void): void {
    const res = this.#res;
    if (isGone(res)) {
      listener();
      return;
    }
    res.once("close", () => {
      if (!res.writableEnded) listener();
    });
  }
}
