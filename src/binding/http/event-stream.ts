import { timerMs } from "../../protocol/async/clock.js";
import { leaveStream, over, type Step } from "../../protocol/async/steps.js";
import { slicesOf } from "../../protocol/codec/text-slices.js";
import type { StreamItem } from "../../protocol/operations.js";
import type { StreamWriter, WireEvent } from "../../version/codec.js";
import { type ServerCall, smallReplyBytes } from "../server-call.js";
import type { BookingCall } from "./booked-body.js";
import { eventStreamType } from "./media-type.js";

// Writes server-sent events. An `EventStream` reads its subscription only while the socket accepts data, so it buffers
// at most one piece of text and one event. A large event is encoded as large work, and handed over in slices: a socket
// copies what it is given, and streams share the text of an event.

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
  return `${fieldsOf(event)}data: ${before}${event.payload}${after}\n\n`;
}

function fieldsOf(event: WireEvent<unknown>): string {
  const name = event.name === undefined ? "" : `event: ${event.name}\n`;
  return event.id === undefined ? name : `${name}id: ${event.id}\n`;
}

/** The text of an event that may be large, in pieces. */
function* eventTexts(event: WireEvent<string | Iterable<string>>, before = "", after = ""): Generator<string> {
  yield `${fieldsOf(event)}data: ${before}`;
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
export interface EventStreamCall extends BookingCall, Pick<ServerCall, "isLarge" | "reserve" | "work"> {
  readonly service: { readonly limits: { readonly keepAliveMs: number } };
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
  readonly #ticker: ReturnType<typeof setInterval>;
  #openResolvers: { resolve(): void; reject(reason: unknown): void } | undefined;
  #openTimer: ReturnType<typeof setTimeout> | undefined;
  #taker: ((piece: Piece) => void) | undefined;
  #text = "";
  /** The rest of a large event, which comes before the text. */
  #slices: string[] = [];
  /** Booked units of the text and the slices, and of what the socket has not taken yet. */
  #bookedText = 0;
  #bookedPiece = 0;
  #source: "idle" | "reading" = "idle";
  #plan: "none" | "handOver" = "none";
  #phase: "live" | "over" = "live";
  #quietTicks = 0;
  #ended = false;

  constructor(items: AsyncIterable<StreamItem>, form: EventStreamForm, call: EventStreamCall) {
    const { keepAliveMs } = call.service.limits;
    this.#items = items[Symbol.asyncIterator]();
    this.#form = form;
    this.#call = call;
    this.#ticker = setInterval(() => this.#tick(), timerMs(keepAliveMs / 2));
    this.opened = new Promise((resolve, reject) => {
      this.#openResolvers = { resolve, reject };
    });
    this.#openTimer = setTimeout(() => this.#openQuiet(), Math.min(openWaitMs, keepAliveMs));
    this.#read();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Piece> {
    this.#releaseTaken();
    if (this.#isReady) return Promise.resolve(this.#take());
    if (this.#phase === "over") return Promise.resolve(over);
    return new Promise((resolve) => {
      this.#taker = resolve;
      this.#read();
    });
  }

  return(): Promise<Piece> {
    this.#text = "";
    this.#slices = [];
    this.#bookedText = 0;
    this.#releaseTaken();
    if (this.#phase === "live") {
      this.#finish();
      // Not awaited: a blocked iterator returns only when its own wait ends.
      leaveStream(this.#items);
    }
    this.#endOpening()?.resolve();
    this.#hand(over);
    return Promise.resolve(over);
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
      if (this.#text.length > smallReplyBytes) this.#book(this.#text.length);
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
    this.#bookedText += this.#call.reserve(item.response);
    const slices: string[] = [];
    let text = this.#text;
    let encoded = 0;
    for (const event of writer.writeLarge?.(item) ?? writer.write(item)) {
      for (const piece of eventTexts(event, before, after)) {
        // Long texts are not joined, which would copy them.
        if (text.length + piece.length <= sliceLength) text += piece;
        else {
          slices.push(text, ...slicesOf(piece, sliceLength));
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
    this.#book(slices.reduce((sum, slice) => sum + slice.length, 0));
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
    else if (this.#phase === "over") this.#hand(over);
  }

  readonly #onFailure = (error: unknown): void => {
    this.#source = "idle";
    if (this.#phase === "over") return;
    const opening = this.#endOpening();
    if (opening !== undefined) {
      // The call is answered in another way, and ends with that.
      this.#ended = true;
      this.#finish();
      opening.reject(error);
      return;
    }
    this.#add(this.#form.writeFailure(error));
    this.#finish();
    this.#handOver();
  };

  /** Raises or lowers what is booked to `length`. Drops the text when there is no room. */
  #book(length: number): void {
    const more = length - this.#bookedText;
    try {
      if (more < 0) this.#call.release(-more);
      else this.#call.hold(more);
    } catch (error) {
      this.#text = "";
      this.#releaseTaken();
      throw error;
    }
    this.#bookedText = length;
  }

  /** Releases what the socket has taken. */
  #releaseTaken(): void {
    if (this.#bookedPiece > 0) this.#call.release(this.#bookedPiece);
    this.#bookedPiece = 0;
    this.#endCall();
  }

  #take(): Piece {
    const slice = this.#slices.shift();
    const value = slice ?? this.#text;
    if (slice === undefined) this.#text = "";
    // The slices of an event are booked until the last one is taken.
    if (this.#slices.length === 0) {
      this.#bookedPiece = this.#bookedText;
      this.#bookedText = 0;
    }
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
    clearInterval(this.#ticker);
    this.#endCall();
  }

  /** Ends the call once: when the stream is over, and nothing booked waits for the socket. */
  #endCall(): void {
    if (this.#phase === "live" || this.#ended || this.#bookedText + this.#bookedPiece > 0) return;
    this.#ended = true;
    this.#call.end();
  }

  /** Ends the opening phase. Returns the resolvers of `opened` once, then `undefined`. */
  #endOpening(): { resolve(): void; reject(reason: unknown): void } | undefined {
    const resolvers = this.#openResolvers;
    if (resolvers === undefined) return undefined;
    this.#openResolvers = undefined;
    clearTimeout(this.#openTimer);
    this.#openTimer = undefined;
    return resolvers;
  }

  #openQuiet(): void {
    this.#add(comment);
    this.#endOpening()?.resolve();
  }

  /** Sends a keep-alive comment after two ticks without an event, if the reader is waiting. */
  #tick(): void {
    this.#quietTicks += 1;
    if (this.#quietTicks < 2 || this.#taker === undefined || this.#isReady) return;
    this.#add(comment);
    this.#handOver();
  }
}

const inNextTurn: (task: () => void) => void =
  typeof setImmediate === "function" ? (task) => void setImmediate(task) : (task) => void setTimeout(task, 0);

/** Runs `run` once the microtask queue is empty. By then everything ready in this event-loop turn has arrived. */
const afterMicrotasks: (task: () => void) => void =
  typeof process === "object" && typeof process.nextTick === "function"
    ? (task) => process.nextTick(task)
    : (task) => void setTimeout(task, 0);
