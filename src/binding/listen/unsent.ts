import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { timerMs } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { smallReplyBytes } from "../server-call.js";
import { repeat } from "./repeat.js";

// Replies that peers request and do not read. An HTTP/1.1 socket has one reply, most of it in the kernel's buffers. An
// HTTP/2 connection has up to a hundred, and a peer that opens no window leaves them in the heap. A call books its own reply
// only above `smallReplyBytes`; what waits below that is booked here, for the peer.

/** Books bytes of a peer; `hold` throws where there is no room for them. */
interface UnsentEntry {
  hold(bytes: number): void;
  release(bytes?: number): void;
  /** Refuses the peer's calls for the rest of this turn of the event loop. */
  refuse(): void;
}

/** Opens an entry for the peer at an address. */
export type OpenUnsent = (address: string) => UnsentEntry;

/** A stream with more than this is skipped: its call has booked it. A character takes at most three bytes. */
const mostBytes = 3 * smallReplyBytes;
/** Time between two checks of all open streams, in milliseconds. */
const checkIntervalMs = 250;
/** Open streams that are checked for each new one. */
const checkedPerNewStream = 8;

/**
 * Books the bytes that wait on HTTP/2 streams. If there is no room, it ends those streams and refuses the peer's calls for
 * the rest of the turn, since Node frees the bytes only in the next one. It checks a session when another one gets a
 * request, and all sessions four times a second: one turn of the event loop may answer a thousand connections.
 */
export class UnsentWatch {
  readonly #stallMs: number;
  readonly #open: OpenUnsent;
  readonly #sessions = new Set<UnsentSession>();
  #latest: UnsentSession | undefined;
  #stopChecking: (() => void) | undefined;

  /** `stallMs`: how long a peer may take nothing of a stream. Without `open`, bytes are not booked. */
  constructor(stallMs: number, open: OpenUnsent = () => unbooked) {
    this.#stallMs = timerMs(stallMs);
    this.#open = open;
  }

  /** Watches a session until it closes. */
  add(session: ServerHttp2Session): void {
    const unsentSession = new UnsentSession(this.#open(session.socket?.remoteAddress ?? ""), this.#stallMs);
    this.#sessions.add(unsentSession);
    this.#stopChecking ??= repeat(systemClock, checkIntervalMs, () => this.#check());
    session.on("stream", (stream) => {
      if (this.#latest !== unsentSession) this.#latest?.checkNew();
      this.#latest = unsentSession;
      unsentSession.add(stream);
    });
    session.on("close", () => this.#drop(unsentSession));
  }

  #drop(session: UnsentSession): void {
    session.close();
    this.#sessions.delete(session);
    if (this.#latest === session) this.#latest = undefined;
    if (this.#sessions.size > 0) return;
    this.#stopChecking?.();
    this.#stopChecking = undefined;
  }

  #check(): void {
    for (const session of this.#sessions) {
      session.watchStalls();
      session.check();
    }
  }
}

const unbooked: UnsentEntry = { hold: noop, release: noop, refuse: noop };

class UnsentSession {
  readonly #entry: UnsentEntry;
  readonly #stallMs: number;
  readonly #streams = new Set<ServerHttp2Stream>();
  readonly #forget: (this: ServerHttp2Stream) => void;
  /** Streams that had bytes waiting at the last check. */
  #waitedStreams: ReadonlySet<ServerHttp2Stream> = new Set();
  #accountedBytes = 0;
  /** Streams since the last check. */
  #newCount = 0;

  constructor(entry: UnsentEntry, stallMs: number) {
    this.#entry = entry;
    this.#stallMs = stallMs;
    const streams = this.#streams;
    this.#forget = function () {
      streams.delete(this);
    };
  }

  add(stream: ServerHttp2Stream): void {
    this.#streams.add(stream);
    this.#newCount += 1;
    stream.on("close", this.#forget);
  }

  /**
   * Gives each stream with bytes that wait a timer, which Node restarts whenever some of them move. Most streams never get
   * one: it would be 3 % of a unary gRPC call.
   */
  watchStalls(): void {
    for (const stream of this.#streams) {
      const isWatched = stream.writableLength === 0 || stream.listenerCount("timeout", cancelStalled) > 0;
      if (!isWatched) stream.setTimeout(this.#stallMs, cancelStalled);
    }
  }

  /** Checks the streams unless most of them were there at the last check. */
  checkNew(): void {
    if (this.#newCount * checkedPerNewStream >= this.#streams.size) this.check();
  }

  /** Books what waits. If there is no room for it, ends what has waited longest, or all of it. */
  check(): void {
    this.#newCount = 0;
    const waitingStreams = [...this.#streams].filter(hasFew);
    if (waitingStreams.length === 0 && this.#accountedBytes === 0) return;
    if (this.#keep(waitingStreams)) return;
    const newStreams = waitingStreams.filter((stream) => !this.#waitedStreams.has(stream));
    end(waitingStreams.filter((stream) => this.#waitedStreams.has(stream)));
    if (this.#keep(newStreams)) return;
    end(newStreams);
    this.#keep([]);
    this.#entry.refuse();
  }

  /** Books what these streams wait with, if there is room for it. */
  #keep(waitingStreams: readonly ServerHttp2Stream[]): boolean {
    const isAccounted = this.#account(waitingStreams);
    if (isAccounted) this.#waitedStreams = new Set(waitingStreams);
    return isAccounted;
  }

  close(): void {
    this.#entry.release();
    this.#accountedBytes = 0;
  }

  /** Books what waits on these streams. Returns false, and books nothing, where there is no room. */
  #account(streams: readonly ServerHttp2Stream[]): boolean {
    const bytes = streams.reduce((sum, { writableLength }) => sum + writableLength, 0);
    try {
      if (bytes > this.#accountedBytes) this.#entry.hold(bytes - this.#accountedBytes);
      else this.#entry.release(this.#accountedBytes - bytes);
      this.#accountedBytes = bytes;
      return true;
    } catch {
      this.close();
      return false;
    }
  }
}

/** Ends the stream only: a proxy shares the connection with other callers. */
function cancelStalled(this: ServerHttp2Stream): void {
  if (this.writableLength > 0) this.close(constants.NGHTTP2_CANCEL);
}

function end(streams: readonly ServerHttp2Stream[]): void {
  for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
}

function hasFew({ writableLength }: ServerHttp2Stream): boolean {
  return writableLength > 0 && writableLength <= mostBytes;
}
