import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Clock } from "../../protocol/async/clock.js";

/** Answers requests of HTTP/1.1 and HTTP/2. */
export type RequestListener = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

/** Limits of connections, in milliseconds, bytes or counts. */
export interface ListenerLimits {
  /** Time for the first bytes, a TLS handshake and the headers of a request. Default: 10 s. */
  readonly headerTimeoutMs: number;
  /**
   * Time for a body, after its headers. In each third of this time the body must arrive at 1,024 bytes a second or
   * more. Default: 30 s.
   */
  readonly bodyTimeoutMs: number;
  /** Size of the headers of a request. Default: 16 KiB. */
  readonly headerMaxBytes: number;
  /**
   * How long a caller may read nothing while bytes of its reply wait; then its socket is closed, or over HTTP/2 its
   * stream. Default: 30 s.
   */
  readonly replyStallMs: number;
  /**
   * How long an HTTP/1.1 connection may be idle between two requests. Keep it above the idle timeout of proxies and
   * load balancers in front of the server, usually 60 s: otherwise they send requests on connections that are being
   * closed. From 10,000 open connections on, each new one closes the idle ones. Default: 75 s.
   */
  readonly keepAliveIdleMs: number;
  /** How long an HTTP/2 connection may be idle before it is closed gracefully. Default: 300 s. */
  readonly http2IdleMs: number;
  /** Concurrent requests and streams of one HTTP/2 connection. Default: 100. */
  readonly streamsPerConnection: number;
  /**
   * Age at which a connection is closed gracefully, plus or minus a tenth, so that callers spread over new replicas:
   * over HTTP/2 by GOAWAY, over HTTP/1.1 by `Connection: close` in the next response. Default: none.
   */
  readonly maxConnectionAgeMs: number;
  /** Time for open calls on a connection that has reached its age; then it is destroyed. Default: none. */
  readonly maxConnectionAgeGraceMs: number;
  /** Silence on an HTTP/2 connection before it is pinged, where gRPC is served. Default: 60 s. */
  readonly grpcKeepaliveMs: number;
  /** Time limit of the answer to a ping; then the connection is destroyed. Default: 20 s. */
  readonly grpcKeepaliveTimeoutMs: number;
}

/** How long a request may take to arrive, and its reply to be taken. */
export interface CallTimes extends Pick<ListenerLimits, "bodyTimeoutMs" | "replyStallMs"> {
  /** Measures the arrival of a body; Node measures the stall of a reply. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
}

export const defaultListenerLimits: ListenerLimits = {
  headerTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  replyStallMs: 30_000,
  headerMaxBytes: 16 * 1024,
  keepAliveIdleMs: 75_000,
  http2IdleMs: 300_000,
  streamsPerConnection: 100,
  maxConnectionAgeMs: Number.POSITIVE_INFINITY,
  maxConnectionAgeGraceMs: Number.POSITIVE_INFINITY,
  grpcKeepaliveMs: 60_000,
  grpcKeepaliveTimeoutMs: 20_000,
};
