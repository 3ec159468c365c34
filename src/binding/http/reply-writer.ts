import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { type Clock, callerClock } from "../../protocol/async/clock.js";
import { endStep, leaveStream, type Step } from "../../protocol/async/steps.js";
import { sliceText } from "../../protocol/codec/text-slices.js";
import type { StreamItem } from "../../protocol/operations.js";
import type { StreamWriter, WireEvent } from "../../version/codec.js";
import { type ServerCall, smallReplyBytes } from "../server-call.js";
import type { HttpReply, ReplyHead } from "./http.js";
import { eventStreamType } from "./media-type.js";

// Writes replies and events, and accounts for them until their peer has taken them.
//
// A reply is one text or one array of bytes when it is small (`accountReply`), and pieces when it is large
// (`encodeReply`, `AccountedBody`) or a stream of server-sent events (`EventStream`). `HttpReply.body` is all that the
// two ends see of it: Node's pushes the pieces into a socket (`node-reply.ts`), Fetch's lets its reader pull them
// (`fetch-handler.ts`). Both ask for a piece only once the peer has taken the one before, so `next()` is also the
// acknowledgement, and nothing is read ahead of a slow peer.
//
// Invariant: whatever is larger than `smallReplyBytes` is booked on the call until the peer has taken it, from before it
// is encoded if its content alone is as large, and the call ends exactly once: after its last piece was taken, when the
// peer leaves, or when the reply fails. `Account` keeps that for both kinds of pieces.

/** A call whose reply is accounted until its peer has taken it. */
export interface AccountedCall {
  /** Books bytes. Throws `unavailable` or `resourceExhausted`. */
  hold(bytes: number): void;
  /** A piece of the reply is ready for the socket. */
  countReply(piece: string | Uint8Array): void;
  /** Releases bytes that were booked. */
  release(bytes: number): void;
  /** The reply was taken, or the peer left. */
  end(): void;
}

/**
 * The bytes of one reply that are booked on its call: those of what waits for the socket, and those of the piece that
 * the socket has.
 */
class Account {
  readonly #call: AccountedCall;
  #waitingBytes = 0;
  #handedBytes = 0;
  /** `closed`: nothing more will wait, and the call ends once the rest is taken. */
  #phase: "open" | "closed" | "ended" = "open";

  constructor(call: AccountedCall) {
    this.#call = call;
  }

  /** Bytes that are booked already, and wait from now on. */
  add(bytes: number): void {
    this.#waitingBytes += bytes;
  }

  /** Raises or lowers what is booked for what waits. Throws as `hold` does, and then changes nothing. */
  account(bytes: number): void {
    const more = bytes - this.#waitingBytes;
    if (more < 0) this.#call.release(-more);
    else this.#call.hold(more);
    this.#waitingBytes = bytes;
  }

  /** The socket gets all that waits. */
  handOver(): void {
    this.#handedBytes = this.#waitingBytes;
    this.#waitingBytes = 0;
  }

  /** The socket has taken what it had. */
  releaseTaken(): void {
    if (this.#handedBytes > 0) this.#call.release(this.#handedBytes);
    this.#handedBytes = 0;
    if (this.#phase === "closed") this.close();
  }

  /** Ends the call once nothing booked is left. */
  close(): void {
    if (this.#phase === "ended") return;
    this.#phase = "closed";
    if (this.#waitingBytes + this.#handedBytes === 0) this.end();
  }

  /** Ends the call, which releases what is still booked. */
  end(): void {
    if (this.#phase === "ended") return;
    this.#phase = "ended";
    this.#call.end();
  }

  /** Leaves the end of the call to another answer. */
  cancel(): void {
    this.#phase = "ended";
  }
}

/** The pieces of a reply. The large ones are booked until the socket has taken them, and the call ends after the last. */
export class AccountedBody implements AsyncIterableIterator<Uint8Array> {
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #call: AccountedCall;
  readonly #account: Account;
  readonly #isAccountedAhead: boolean;

  /** `isAccountedAhead`: the pieces are booked already, until all of them are taken. */
  constructor(pieces: AsyncIterable<Uint8Array>, call: AccountedCall, isAccountedAhead = false) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#call = call;
    this.#account = new Account(call);
    this.#isAccountedAhead = isAccountedAhead;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    this.#account.releaseTaken();
    try {
      const piece = await this.#pieces.next();
      if (piece.done === true) this.#account.end();
      else {
        if (!this.#isAccountedAhead && piece.value.length > smallReplyBytes) {
          this.#account.account(piece.value.length);
          this.#account.handOver();
        }
        this.#call.countReply(piece.value);
      }
      return piece;
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#account.end();
    await this.#pieces.return?.();
    return endStep;
  }
}

const encoder = new TextEncoder();

/**
 * Books a large reply until its peer has taken it; then the call ends. Returns a small reply unchanged. Throws
 * `unavailable` or `resourceExhausted` when there is no room.
 */
export function accountReply(
  call: AccountedCall,
  reply: ReplyHead & { readonly body: string | Uint8Array },
): HttpReply {
  const { body } = reply;
  if (body.length <= smallReplyBytes) {
    call.countReply(body);
    return reply;
  }
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  call.hold(bytes.length);
  return accountPieces(call, reply, [bytes]);
}

/**
 * Encodes a large reply as large work, a piece at a time, and books it until its peer has taken it; then the call ends.
 * `texts`: the text of the reply, in pieces that are made when they are asked for.
 * Rejects with `unavailable` or `resourceExhausted` when there is no room for it.
 */
export async function encodeReply(
  call: ServerCall,
  head: ReplyHead,
  reply: AnyMessage,
  texts: Iterable<string>,
): Promise<HttpReply> {
  return accountPieces(call, head, await call.work(encodeTexts(call, reply, texts)));
}

/** Encodes texts in pieces of at least `smallReplyBytes`. Books an estimate first, then corrects it. */
function* encodeTexts(
  call: ServerCall,
  reply: AnyMessage,
  texts: Iterable<string>,
): Generator<undefined, Uint8Array[]> {
  let reserved = call.reserve(reply);
  yield;
  const pieces: Uint8Array[] = [];
  let text = "";
  const encode = (): void => {
    const bytes = encoder.encode(text);
    reserved -= bytes.length;
    if (reserved < 0) {
      call.hold(-reserved);
      reserved = 0;
    }
    pieces.push(bytes);
    text = "";
  };
  for (const each of texts) {
    text += each;
    if (text.length < smallReplyBytes) continue;
    encode();
    yield;
  }
  if (text !== "") encode();
  call.release(reserved);
  return pieces;
}

function accountPieces(call: AccountedCall, { status, headers }: ReplyHead, pieces: Uint8Array[]): HttpReply {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const body = new AccountedBody(takeEach(pieces), call, true);
  return { status, headers: { ...headers, "Content-Length": String(length) }, body };
}

/** Yields each piece and drops it, so that its memory can be freed. */
async function* takeEach(pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) yield piece;
}

// Server-sent events. An `EventStream` reads its subscription only while the socket accepts data, so it buffers at most
// one piece of text and one event. A large event is encoded as large work, and handed over in slices: a socket copies
// what it is given, and streams share the text of an event.
//
// A stream is `live` until its items end or fail, or its reader leaves; then it is `over`, and hands out what is left. The
// first event, the end, or a short wait opens it. A failure before that rejects `opened`, and the call is answered in
// another way; a later one is the last event. Ticks of the clock add a comment where two of them pass without an event.

export const eventStreamHeaders: Readonly<Record<string, string>> = {
  "Content-Type": eventStreamType,
  // A proxy or middleware that compressed the stream would hold events back.
  "Cache-Control": "no-store, no-transform",
  // Makes nginx and similar proxies forward each event at once.
  "X-Accel-Buffering": "no",
};

// No blank line after it: after an event with an id, some readers would take that for an event without data.
const comment = ": keep-alive\n";
/** After this time a stream without events gets its headers, so that the reader knows it is open. */
const openWaitMs = 2_000;

/** Largest slice of an event that is written at once, in UTF-16 units. */
const sliceLength = 256 * 1024;

/** Formats one event with a single data line, since several existing readers cannot join multiple ones. */
export function formatEvent(event: WireEvent<string>, before = "", after = ""): string {
  return `${formatFields(event)}data: ${before}${event.payload}${after}\n\n`;
}

function formatFields(event: WireEvent<unknown>): string {
  const name = event.name === undefined ? "" : `event: ${event.name}\n`;
  return event.id === undefined ? name : `${name}id: ${event.id}\n`;
}

/** The text of an event that may be large, in pieces. */
function* eventTexts(event: WireEvent<string | Iterable<string>>, before = "", after = ""): Generator<string> {
  yield `${formatFields(event)}data: ${before}`;
  if (typeof event.payload === "string") yield event.payload;
  else yield* event.payload;
  yield `${after}\n\n`;
}

/** The wire format of one stream. */
export interface EventStreamForm {
  readonly writer: StreamWriter<string>;
  /** Texts before and after the payload in the data of each event. Default: none. */
  readonly before?: string;
  readonly after?: string;
  /** Text of the last event if an open stream fails. */
  writeFailure(error: unknown): string;
}

/** The call that a stream answers. `end` is called once when the stream has ended and its text was taken. */
export interface EventStreamCall extends AccountedCall, Pick<ServerCall, "isLarge" | "reserve" | "work"> {
  readonly service: { readonly limits: { readonly keepAliveMs: number }; readonly clock?: Clock | undefined };
}

type Piece = Step<string>;

// Not a generator: a generator cannot be cancelled while it waits, and costs three microtask turns for each event.

/** The text of a stream of items, in pieces. Starts reading items at once. */
export class EventStream implements AsyncIterableIterator<string> {
  /**
   * Resolves on the first event, on the end, or after two seconds at most. Rejects if the stream fails before that, so
   * that an early failure can still get its own HTTP status.
   */
  readonly opened: Promise<void>;
  readonly #items: AsyncIterator<StreamItem>;
  readonly #form: EventStreamForm;
  readonly #call: EventStreamCall;
  readonly #account: Account;
  #openResolvers: { resolve(): void; reject(reason: unknown): void } | undefined;
  /** Cancels the one timer: the wait for the first event, then the next tick. */
  #cancelTimer: () => void;
  #taker: ((piece: Piece) => void) | undefined;
  #text = "";
  /** The rest of a large event, which comes before the text. */
  #slices: string[] = [];
  #source: "idle" | "reading" = "idle";
  #plan: "none" | "handOver" = "none";
  #phase: "live" | "over" = "live";
  #quietTicks = 0;

  constructor(items: AsyncIterable<StreamItem>, form: EventStreamForm, call: EventStreamCall) {
    const { limits, clock = callerClock } = call.service;
    this.#items = items[Symbol.asyncIterator]();
    this.#form = form;
    this.#call = call;
    this.#account = new Account(call);
    this.opened = new Promise((resolve, reject) => {
      this.#openResolvers = { resolve, reject };
    });
    this.#cancelTimer = clock.after(Math.min(openWaitMs, limits.keepAliveMs), () => this.#openQuiet());
    this.#read();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Piece> {
    this.#account.releaseTaken();
    if (this.#isReady) return Promise.resolve(this.#take());
    if (this.#phase === "over") return Promise.resolve(endStep);
    return new Promise((resolve) => {
      this.#taker = resolve;
      this.#read();
    });
  }

  return(): Promise<Piece> {
    this.#text = "";
    this.#slices = [];
    this.#account.end();
    if (this.#phase === "live") {
      this.#finish();
      // Not awaited: a blocked iterator returns only when its own wait ends.
      leaveStream(this.#items);
    }
    this.#endOpening()?.resolve();
    this.#hand(endStep);
    return Promise.resolve(endStep);
  }

  #read(): void {
    if (this.#source === "reading" || this.#phase === "over") return;
    this.#source = "reading";
    try {
      this.#items.next().then(this.#onItem, this.#onFailure);
    } catch (error) {
      this.#onFailure(error);
    }
  }

  readonly #onItem = (result: IteratorResult<StreamItem>): void => {
    if (this.#phase === "over") return;
    const done = result.done === true;
    try {
      if (!done && this.#call.isLarge(result.value.response)) {
        this.#call.work(this.#encode(result.value)).then(
          () => this.#onWritten(),
          (error: unknown) => this.#onUnwritten(error),
        );
        return;
      }
      const { writer, before, after } = this.#form;
      for (const event of done ? (writer.end?.() ?? []) : writer.write(result.value))
        this.#add(formatEvent(event, before, after));
      if (this.#text.length > smallReplyBytes) this.#holdText(this.#text.length);
    } catch (error) {
      this.#onUnwritten(error);
      return;
    }
    if (done) this.#finish();
    this.#onWritten();
  };

  /** Encodes a large event in steps. Books an estimate first, then corrects it. */
  *#encode(item: StreamItem): Generator<undefined, void> {
    const { writer, before, after } = this.#form;
    this.#account.add(this.#call.reserve(item.response));
    const slices: string[] = [];
    let text = this.#text;
    let encoded = 0;
    for (const event of writer.writeLarge?.(item) ?? writer.write(item)) {
      for (const piece of eventTexts(event, before, after)) {
        // Long texts are not joined, which would copy them.
        if (text.length + piece.length <= sliceLength) text += piece;
        else {
          slices.push(text, ...sliceText(piece, sliceLength));
          text = "";
        }
        this.#call.countReply(piece);
        encoded += piece.length;
        if (encoded < smallReplyBytes) continue;
        encoded = 0;
        yield;
      }
    }
    slices.push(text);
    this.#holdText(slices.reduce((sum, slice) => sum + slice.length, 0));
    this.#slices = slices.filter((slice) => slice !== "");
    this.#text = "";
  }

  #onWritten(): void {
    this.#source = "idle";
    this.#endOpening()?.resolve();
    if (this.#phase === "over" || this.#slices.length > 0) this.#handOver();
    else this.#readOn();
  }

  /** An event could not be encoded, or there is no room for it. */
  #onUnwritten(error: unknown): void {
    leaveStream(this.#items);
    this.#onFailure(error);
  }

  get #isReady(): boolean {
    return this.#text !== "" || this.#slices.length > 0;
  }

  #add(text: string): void {
    this.#text += text;
    this.#call.countReply(text);
  }

  /** Reads on while a reader waits, and hands over the text when no more is ready. */
  #readOn(): void {
    if (this.#taker === undefined) return;
    if (this.#text.length >= smallReplyBytes) {
      // Yield: a subscription that always has events must not block the event loop.
      inNextTurn(() => this.#handOver());
      return;
    }
    if (this.#text !== "" && this.#plan === "none") {
      this.#plan = "handOver";
      afterMicrotasks(() => this.#handOverSoon());
    }
    this.#read();
  }

  #handOverSoon(): void {
    this.#plan = "none";
    if (this.#text !== "" && this.#text.length < smallReplyBytes) this.#handOver();
  }

  /** Gives the waiting reader the ready text, or the end if no text is left. */
  #handOver(): void {
    if (this.#taker === undefined) return;
    if (this.#isReady) this.#hand(this.#take());
    else if (this.#phase === "over") this.#hand(endStep);
  }

  readonly #onFailure = (error: unknown): void => {
    this.#source = "idle";
    if (this.#phase === "over") return;
    const opening = this.#endOpening();
    if (opening !== undefined) {
      // The call is answered in another way, and ends with that.
      this.#account.cancel();
      this.#finish();
      opening.reject(error);
      return;
    }
    this.#add(this.#form.writeFailure(error));
    this.#finish();
    this.#handOver();
  };

  /** Books this much text. Drops it when there is no room. */
  #holdText(length: number): void {
    try {
      this.#account.account(length);
    } catch (error) {
      this.#text = "";
      this.#account.releaseTaken();
      throw error;
    }
  }

  #take(): Piece {
    const slice = this.#slices.shift();
    const value = slice ?? this.#text;
    if (slice === undefined) this.#text = "";
    // The slices of an event are booked until the last one is taken.
    if (this.#slices.length === 0) this.#account.handOver();
    this.#quietTicks = 0;
    return { done: false, value };
  }

  #hand(piece: Piece): void {
    const taker = this.#taker;
    this.#taker = undefined;
    taker?.(piece);
  }

  #finish(): void {
    this.#phase = "over";
    this.#cancelTimer();
    this.#account.close();
  }

  /** Ends the opening phase. Returns the resolvers of `opened` once, then `undefined`. */
  #endOpening(): { resolve(): void; reject(reason: unknown): void } | undefined {
    const resolvers = this.#openResolvers;
    if (resolvers === undefined) return undefined;
    this.#openResolvers = undefined;
    this.#cancelTimer();
    if (this.#phase === "live") this.#startTick();
    return resolvers;
  }

  #openQuiet(): void {
    this.#add(comment);
    this.#endOpening()?.resolve();
  }

  #startTick(): void {
    const { limits, clock = callerClock } = this.#call.service;
    this.#cancelTimer = clock.after(limits.keepAliveMs / 2, this.#onTick);
  }

  /** Sends a keep-alive comment after two ticks without an event, if the reader is waiting. */
  readonly #onTick = (): void => {
    this.#startTick();
    this.#quietTicks += 1;
    if (this.#quietTicks < 2 || this.#taker === undefined || this.#isReady) return;
    this.#add(comment);
    this.#handOver();
  };
}

const inNextTurn: (task: () => void) => void =
  typeof setImmediate === "function" ? (task) => void setImmediate(task) : (task) => void callerClock.after(0, task);

/** Runs `task` once the microtask queue is empty. By then everything ready in this event-loop turn has arrived. */
const afterMicrotasks: (task: () => void) => void =
  typeof process === "object" && typeof process.nextTick === "function"
    ? (task) => process.nextTick(task)
    : (task) => void callerClock.after(0, task);
