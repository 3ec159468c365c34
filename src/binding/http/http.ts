import type { PeerCertificate, ReadHeader } from "../../protocol/context.js";

// What every HTTP endpoint sees of a request and gives as a reply, so that the bindings know no server.
//
// A request of Node's servers becomes an `HttpRequest` in `node-listener.ts`, one of a Fetch-standard runtime in
// `fetch-handler.ts`, one of Koa in `server/koa/koa-middleware.ts`. `server/directory.ts` and `server/endpoint.ts` route it
// by its path to a binding, whose endpoint makes it a call (`call.ts` has the steps that bindings share). The body is read
// by `request-body.ts` when the binding asks for it, the reply is made by `reply-writer.ts`, and written by the file that
// the request came from; Node's and Koa's share `node-reply.ts`.

/** A request as an endpoint sees it. The body is unread until `body()` is called. */
export interface HttpRequest {
  readonly method: string;
  /** Path below the mount point, percent-encoded, without the query. */
  readonly path: string;
  /** Where the program's server mounts the agent, percent-encoded; `""` at the root. */
  readonly mountPath: string;
  /** Query string without `?`; `""` if there is none. */
  readonly query: string;
  /** Returns a header by its lower-case name; repeated headers are joined by commas. */
  header(name: string): string | undefined;
  /** Returns a reader of the headers that does not keep the request in memory. */
  headers(): ReadHeader;
  /**
   * Reads the whole body. Rejects with `contentTooLarge` as soon as it exceeds `maxBytes`, with `requestTimeout` if it
   * arrives too late or too slowly, and with what `onPiece` throws, which is called with each piece as it arrives.
   */
  body(maxBytes: number, onPiece: (piece: Uint8Array) => void): Promise<Uint8Array>;
  /** Whether a framework's body parser has read the body. It may have decompressed it, whatever the headers say. */
  readonly isParsed: boolean;
  /** Calls back once if the peer leaves before the reply is finished; at once if it has already left. */
  onLeave(listener: () => void): void;
  /** Whether the request came over TLS; the URLs of the card depend on it. */
  readonly secure: boolean;
  readonly remoteAddress: string | undefined;
  /** The certificate that the peer has shown over TLS, which has verified it. */
  readonly certificate: PeerCertificate | undefined;
  /** The request as the framework gave it. */
  readonly native: unknown;
}

/** A reply without its body. */
export interface ReplyHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** A reply. An `AsyncIterable` body is written as it comes, with back pressure from the socket. */
export interface HttpReply extends ReplyHead {
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array> | undefined;
}

/** Answers a request. Returns `undefined` if the path is not the endpoint's. Never throws. */
export type HttpEndpoint = (request: HttpRequest) => Promise<HttpReply | undefined> | HttpReply | undefined;

/** A reply that people read: one line of plain text. */
export function plainReply(status: number, line: string, headers: Readonly<Record<string, string>> = {}): HttpReply {
  return { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers }, body: `${line}\n` };
}
