import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";

/** Answers requests of HTTP/1.1 and HTTP/2. */
export type RequestListener = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
) => void;

/** Limits of connections, in milliseconds, bytes or counts. */
export interface ListenerLimits {
  /** Time for the first bytes, for a TLS handshake and for the headers of a request. */
  readonly headerTimeoutMs: number;
  /** Time for a body after its headers. */
  readonly bodyTimeoutMs: number;
  /** The lowest rate at which a body may arrive, averaged over each third of `bodyTimeoutMs`. */
  readonly bodyMinBytesPerSecond: number;
  readonly headerMaxBytes: number;
  /** How long a caller may take nothing of a reply while bytes of it wait. */
  readonly replyStallMs: number;
  /** How long an HTTP/1.1 connection may stay idle between two requests. */
  readonly keepAliveIdleMs: number;
  /** How long an HTTP/2 connection may stay silent before a graceful close. */
  readonly http2IdleMs: number;
  readonly streamsPerConnection: number;
}

/** How long a request may take to arrive, and its reply to be taken. */
export type CallTimes = Pick<ListenerLimits, "bodyTimeoutMs" | "bodyMinBytesPerSecond" | "replyStallMs">;

export const defaultListenerLimits: ListenerLimits = {
  headerTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  bodyMinBytesPerSecond: 1024,
  replyStallMs: 30_000,
  headerMaxBytes: 16 * 1024,
  keepAliveIdleMs: 15_000,
  http2IdleMs: 300_000,
  streamsPerConnection: 100,
};
