import { constants, createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { noop } from "../../protocol/async/noop.js";
import type { ListenerLimits, RequestListener } from "./connection.js";

/** Serves the HTTP/2 connections of a listener. */
export interface Http2Engine {
  /** Takes over a socket whose bytes begin with the HTTP/2 preface. */
  accept(socket: Socket): void;
  /** Sends GOAWAY on every connection. Each closes with its last stream. */
  drain(): void;
  /** Releases everything but the sockets. */
  close(): void;
}

/** HTTP/2 without gRPC: every stream is an HTTP request. */
export function createHttp2Engine(http: RequestListener, limits: ListenerLimits): Http2Engine {
  const server = createServer(http);
  const sessions = keepSessions(server, limits);
  return {
    accept: (socket) => {
      server.emit("connection", socket);
    },
    drain: () => goAway(sessions),
    close: () => {
      server.close();
    },
  };
}

/** Puts limits on an HTTP/2 server and returns the live set of its open sessions. */
export function keepSessions(server: Http2Server, limits: ListenerLimits): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  server.updateSettings({
    maxConcurrentStreams: limits.streamsPerConnection,
    maxHeaderListSize: limits.headerMaxBytes,
  });
  // A peer that breaks the protocol loses its session. There is no request to report it to.
  server.on("sessionError", noop);
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("stream", (stream) => void stream.setTimeout(limits.replyStallMs, cancelStalled));
    // The first SETTINGS frame is part of the preface. Later silence closes the connection gracefully: open streams go
    // on.
    const mute = (): void => session.destroy();
    session.setTimeout(limits.headerTimeoutMs, mute);
    session.once("remoteSettings", () => {
      session.removeListener("timeout", mute);
      session.setTimeout(limits.http2IdleMs, () => session.close());
    });
  });
  return sessions;
}

/**
 * Node calls this when no byte of the stream has moved for a while. Ends the stream only: a proxy shares the connection
 * with other callers.
 */
function cancelStalled(this: ServerHttp2Stream): void {
  if (this.writableLength > 0) this.close(constants.NGHTTP2_CANCEL);
}

/** Sends GOAWAY on each session. */
export function goAway(sessions: ReadonlySet<ServerHttp2Session>): void {
  for (const session of sessions) session.close();
}
