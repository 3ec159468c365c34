import type { Http2Server, ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { callerClock, timerMs } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import type { ListenerLimits } from "./connection.js";
import { watchAge } from "./connection-age.js";
import { sendShutdownNotice } from "./shutdown-notice.js";
import { type OpenUnsent, UnsentWatch } from "./unsent.js";

// Graceful shutdown (RFC 9113, 6.8). The first GOAWAY is a notice that allows every stream; when the peer answers the
// PING that follows, all requests sent before it read the notice have arrived, and a second GOAWAY names the last
// stream. Where Node cannot send the notice, the only GOAWAY names the last stream, and the peer may retry later
// requests elsewhere.

/** The open HTTP/2 connections of a server. */
export interface Sessions {
  /** Passes a socket to `open`, which hands it to the server. */
  accept(socket: Socket, open: (socket: Socket) => void): void;
  /**
   * Closes each connection with its last stream. Resolves when every peer knows, or `ms` have passed.
   */
  retire(ms: number): Promise<void>;
}

/** How long a peer gets to confirm that it has read a GOAWAY, where no shutdown waits for it. */
const noticeMs = 1000;

/**
 * Puts limits on an HTTP/2 server and keeps its sessions. Without `unsent`, bytes that peers do not take are not
 * booked.
 */
export function keepSessions(server: Http2Server, limits: ListenerLimits, unsent: OpenUnsent | undefined): Sessions {
  const sessions = new Set<Session>();
  const watch = new UnsentWatch(limits.replyStallMs, unsent);
  // Node emits `session` while it takes over the socket.
  let acceptedSocket: Socket | undefined;
  server.updateSettings({
    maxConcurrentStreams: limits.streamsPerConnection,
    maxHeaderListSize: limits.headerMaxBytes,
  });
  // A peer that breaks the protocol loses its session. There is no request to report it to.
  server.on("sessionError", noop);
  server.on("session", (http2) => {
    const session = new Session(http2, acceptedSocket, limits);
    sessions.add(session);
    watch.add(http2);
    http2.on("close", () => sessions.delete(session));
  });
  return {
    accept(socket, open) {
      acceptedSocket = socket;
      open(socket);
      acceptedSocket = undefined;
    },
    async retire(ms) {
      await Promise.all([...sessions].map((session) => session.retire(ms)));
    },
  };
}

class Session {
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket | undefined;
  #isReady = false;
  /** Resolves with the peer's preface, or when the session is over. */
  readonly #ready = Promise.withResolvers<void>();
  #retirement: Promise<void> | undefined;

  constructor(session: ServerHttp2Session, socket: Socket | undefined, limits: ListenerLimits) {
    this.#session = session;
    this.#socket = socket;
    // The first SETTINGS frame is part of the preface. Later silence closes the connection gracefully: open streams go
    // on.
    const mute = (): void => session.destroy();
    session.setTimeout(timerMs(limits.headerTimeoutMs), mute);
    session.once("close", this.#ready.resolve);
    session.once("remoteSettings", () => {
      this.#isReady = true;
      this.#ready.resolve();
      session.removeListener("timeout", mute);
      session.setTimeout(timerMs(limits.http2IdleMs), () => void this.retire(noticeMs));
    });
    if (socket !== undefined) watchAge(socket, limits, () => void this.retire(noticeMs));
  }

  retire(ms: number): Promise<void> {
    this.#retirement ??= this.#isReady ? this.#goAway(ms) : this.#goAwayLater(ms);
    return this.#retirement;
  }

  /** The first request of a new session may be on its way: the session ends after it, even if nobody waits. */
  #goAwayLater(ms: number): Promise<void> {
    const retirement = this.#ready.promise.then(() => this.#goAway(Math.max(ms, noticeMs)));
    return within(callerClock, ms, retirement);
  }

  async #goAway(ms: number): Promise<void> {
    const [session, socket] = [this.#session, this.#socket];
    const isOpen = this.#isReady && !session.closed && !session.destroyed;
    if (isOpen && socket !== undefined && sendShutdownNotice(socket)) await this.#confirm(ms);
    session.close();
  }

  #confirm(ms: number): Promise<void> {
    const confirmation = new Promise<void>((resolve) => {
      const onPong = (): void => resolve();
      this.#session.once("close", onPong);
      if (!this.#session.ping(onPong)) onPong();
    });
    return within(callerClock, ms, confirmation);
  }
}
