// The HTTP seam: small request and response types of our own, so that one endpoint serves Node, Fetch and Koa alike.

/** A request as an endpoint sees it. The body is not read until `body()` is called. */
export interface HttpRequest {
  readonly method: string;
  /** Path below the mount point, still percent-encoded, without the query. */
  readonly path: string;
  /** What stands behind `?`, without it; `""` when there is none. */
  readonly query: string;
  /** A header by its lower-case name; repeated headers are joined by commas. */
  header(name: string): string | undefined;
  /**
   * Reads the whole body. Throws `contentTooLarge` over the limit (bytes), without reading on, and `requestTimeout`
   * when it does not arrive in time.
   */
  body(maxBytes: number): Promise<Uint8Array>;
  /** Calls back once when the peer has gone before the reply was finished; at once when it has already. */
  onLeave(listener: () => void): void;
  /** Where the request came in, for the URLs of the card: scheme, and authority as the peer wrote it. */
  readonly secure: boolean;
  readonly remoteAddress: string | undefined;
}

/** A reply. A body that is an `AsyncIterable` is written as it comes, and read no faster than the socket drains. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | AsyncIterable<string | Uint8Array> | undefined;
}

/** Answers a request, or says `undefined` when the path is not its own. Never throws. */
export type HttpEndpoint = (request: HttpRequest) => Promise<HttpReply | undefined> | HttpReply | undefined;
