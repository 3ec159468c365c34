import { createServer } from "node:http2";
import type { Socket } from "node:net";
import type { ListenerLimits, RequestListener } from "./connection.js";
import { onCheckContinue } from "./continue.js";
import { keepSessions } from "./sessions.js";
import type { OpenUnsent } from "./unsent.js";

/** Serves the HTTP/2 connections of a listener. */
export interface Http2Engine {
  /** Takes over a socket whose bytes begin with the HTTP/2 preface. */
  accept(socket: Socket): void;
  /**
   * Sends GOAWAY on every connection. Each closes with its last stream. Resolves when every peer knows, or `ms` have
   * passed.
   */
  retire(ms: number): Promise<void>;
  /** Releases everything but the sockets. */
  close(): void;
}

/** HTTP/2 without gRPC: every stream is an HTTP request. */
export function createHttp2Engine(http: RequestListener, limits: ListenerLimits, unsent?: OpenUnsent): Http2Engine {
  const server = createServer(http).on("checkContinue", onCheckContinue(http));
  const sessions = keepSessions(server, limits, unsent);
  return {
    accept: (socket) => sessions.accept(socket, (connection) => server.emit("connection", connection)),
    retire: sessions.retire,
    close: () => {
      server.close();
    },
  };
}
