import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";

// What peers ask for and do not take. A socket of HTTP/1.1 has one reply, most of which the kernel keeps; a connection of
// HTTP/2 has a hundred, and a peer that opens no window leaves them in the heap of the process.

/** Books bytes of a peer; `hold` throws where there is no room for them. */
interface UnsentEntry {
  hold(bytes: number): void;
  release(bytes?: number): void;
  /** Refuses the peer's calls for the rest of this turn of the event loop. */
  refuse(): void;
}

/** Opens an entry for the peer at an address. */
export type OpenUnsent = (address: string) => UnsentEntry;

/** More than this is booked by the call whose reply it is. */
const mostBytes = 128 * 1024;
/** Time between two looks at all open streams, in milliseconds. */
const lookMs = 250;
/** Open streams that are looked at for each new one. */
const looksPerStream = 8;

/**
 * Books what waits on HTTP/2 streams. Where there is no room for it, those streams of the session are ended, and as Node
 * frees what they hold in the next turn of the event loop, the peer's calls are refused until then. A session is looked at
 * when the next one has a request, and all of them four times a second: one turn may answer the requests of a thousand
 * connections.
 */
export class UnsentWatch {
  readonly #open: OpenUnsent;
  readonly #sessions = new Set<UnsentSession>();
  #latest: UnsentSession | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(open: OpenUnsent) {
    this.#open = open;
  }

  /** Watches a session until it closes. */
  add(session: ServerHttp2Session): void {
    const watched = new UnsentSession(this.#open(session.socket?.remoteAddress ?? ""));
    this.#sessions.add(watched);
    this.#timer ??= setInterval(() => this.#look(), lookMs).unref();
    session.on("stream", (stream) => {
      if (this.#latest !== watched) this.#latest?.glance();
      this.#latest = watched;
      watched.add(stream);
    });
    session.on("close", () => this.#drop(watched));
  }

  #drop(session: UnsentSession): void {
    session.close();
    this.#sessions.delete(session);
    if (this.#latest === session) this.#latest = undefined;
    if (this.#sessions.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    for (const session of this.#sessions) session.look();
  }
}

class UnsentSession {
  readonly #entry: UnsentEntry;
  readonly #streams = new Set<ServerHttp2Stream>();
  readonly #forget: (this: ServerHttp2Stream) => void;
  /** Streams that had bytes waiting at the last look. */
  #waited: ReadonlySet<ServerHttp2Stream> = new Set();
  #booked = 0;
  /** Streams since the last look. */
  #fresh = 0;

  constructor(entry: UnsentEntry) {
    this.#entry = entry;
    const streams = this.#streams;
    this.#forget = function () {
      streams.delete(this);
    };
  }

  add(stream: ServerHttp2Stream): void {
    this.#streams.add(stream);
    this.#fresh += 1;
    stream.on("close", this.#forget);
  }

  /** Looks at the streams unless most of them were there at the last look. */
  glance(): void {
    if (this.#fresh * looksPerStream >= this.#streams.size) this.look();
  }

  /** Books what waits. If there is no room for it, ends what has waited longest, or all of it. */
  look(): void {
    this.#fresh = 0;
    const waiting = [...this.#streams].filter(hasFew);
    if (waiting.length === 0 && this.#booked === 0) return;
    if (this.#keep(waiting)) return;
    const fresh = waiting.filter((stream) => !this.#waited.has(stream));
    end(waiting.filter((stream) => this.#waited.has(stream)));
    if (this.#keep(fresh)) return;
    end(fresh);
    this.#keep([]);
    this.#entry.refuse();
  }

  /** Books what these streams wait with, if there is room for it. */
  #keep(waiting: readonly ServerHttp2Stream[]): boolean {
    const isBooked = this.#book(waiting);
    if (isBooked) this.#waited = new Set(waiting);
    return isBooked;
  }

  close(): void {
    this.#entry.release();
    this.#booked = 0;
  }

  /** Books what waits on these streams. Returns false, and books nothing, where there is no room. */
  #book(streams: readonly ServerHttp2Stream[]): boolean {
    const bytes = streams.reduce((sum, { writableLength }) => sum + writableLength, 0);
    try {
      if (bytes > this.#booked) this.#entry.hold(bytes - this.#booked);
      else this.#entry.release(this.#booked - bytes);
      this.#booked = bytes;
      return true;
    } catch {
      this.close();
      return false;
    }
  }
}

function end(streams: readonly ServerHttp2Stream[]): void {
  for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
}

function hasFew({ writableLength }: ServerHttp2Stream): boolean {
  return writableLength > 0 && writableLength <= mostBytes;
}
