import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Http2ServerResponse } from "node:http2";
import type { PeerCertificate, ReadHeader } from "../../protocol/context.js";
import type { CallTimes } from "../listen/connection.js";
import { isSingleHeader, joinLines, listHeaderValues } from "../one-credential.js";
import { findCertificate } from "../peer-certificate.js";
import type { HttpRequest } from "./http.js";
import { type NodeIncoming, type ParsedBody, readNodeBody } from "./request-body.js";

export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Whether the peer has stopped reading the reply. */
export function isPeerGone(res: NodeResponse): boolean {
  return "stream" in res ? res.stream.destroyed : res.destroyed;
}

/** The request target: the encoded path, and the query string without `?`. */
export interface Target {
  readonly path: string;
  readonly query: string;
}

/** Splits a request target. Reduces the absolute form, which proxies use, to its path. */
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
  readonly times: CallTimes;
  readonly mountPath: string;
  readonly native: unknown;
  /** The body as a parser left it on the framework's request. Default: `body` and `rawBody` of `req`. */
  readonly parsedBody?: ParsedBody | undefined;
}

const noLines: readonly string[] = [];

/** A request of Node's HTTP/1.1 or HTTP/2 server. */
export class NodeRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly mountPath: string;
  readonly #req: NodeIncoming;
  readonly #res: NodeResponse;
  readonly #times: CallTimes;
  readonly native: unknown;
  readonly #parsedBody: ParsedBody;

  constructor(req: NodeIncoming, res: NodeResponse, options: NodeRequestOptions) {
    this.method = req.method ?? "GET";
    this.path = options.path;
    this.query = options.query;
    this.mountPath = options.mountPath;
    this.native = options.native;
    this.#req = req;
    this.#res = res;
    this.#times = options.times;
    this.#parsedBody = options.parsedBody ?? (req as ParsedBody);
  }

  get secure(): boolean {
    return "encrypted" in this.#req.socket && this.#req.socket.encrypted === true;
  }

  get remoteAddress(): string | undefined {
    return this.#req.socket.remoteAddress;
  }

  get certificate(): PeerCertificate | undefined {
    return findCertificate(this.#req.socket);
  }

  header(name: string): string | undefined {
    const { headers, rawHeaders } = this.#req;
    return isSingleHeader(name) ? joinLines(name, listHeaderValues(rawHeaders, name)) : findHeader(headers, name);
  }

  headers(): ReadHeader {
    const { headers, rawHeaders } = this.#req;
    // Keep only these lines: the raw headers would stay in memory while a stream is open.
    const list = (name: string) => (headers[name] === undefined ? noLines : listHeaderValues(rawHeaders, name));
    const authorization = list("authorization");
    const proxyAuthorization = list("proxy-authorization");
    return (name) => {
      if (!isSingleHeader(name)) return findHeader(headers, name);
      return joinLines(name, name === "authorization" ? authorization : proxyAuthorization);
    };
  }

  get isParsed(): boolean {
    const { body, rawBody } = this.#parsedBody;
    return body !== undefined || rawBody !== undefined;
  }

  body(maxBytes: number, onPiece: (piece: Uint8Array) => void): Promise<Uint8Array> {
    return readNodeBody(this.#req, this.#parsedBody, { maxBytes, times: this.#times, onPiece });
  }

  onLeave(listener: () => void): void {
    const res = this.#res;
    if (isPeerGone(res)) {
      listener();
      return;
    }
    // It closes once, and `once` costs a stream three objects.
    res.on("close", () => {
      if (!res.writableEnded) listener();
    });
  }
}

/** A header of a request, by its lower-case name. */
export function findHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  // In HTTP/2, `:authority` is the host; a `Host` header may differ.
  const value = (name === "host" ? headers[":authority"] : undefined) ?? headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}
