import { noop } from "../../protocol/async/noop.js";
import { over, type Step } from "../../protocol/async/steps.js";
import type { StreamItem } from "../../protocol/operations.js";
import type { WireEvent } from "../../version/codec.js";
import { eventStreamType } from "./media-type.js";

// Server-sent events, the writing end. An `EventStream` reads its subscription only while the socket takes what it gives:
// one piece of text and one event are the most that wait here.

export const eventStreamHeaders: Readonly<Record<string, string>> = {
  "Content-Type": eventStreamType,
  "Cache-Control": "no-store",
  // Asks nginx and its kin to hand each event on at once.
  "X-Accel-Buffering": "no",
};

// Without a blank line behind it: behind an event with an id some readers take that for an event without data.
const comment = ": keep-alive\n";
/** Events that are there at once are joined up to this length. */
const pieceMaxLength = 64 * 1024;
/** A subscription that has nothing to say yet gets its headers after this time, so that its reader knows it is open. */
const openWaitMs = 2_000;

/** Writes one event: a single data line, since several readers in the field cannot join folded ones. */
export function formatEvent(event: WireEvent<string>, before = "", after = ""): string {
  const name = event.name === undefined ? "" : `event: ${event.name}\n`;
  const id = event.id === undefined ? "" : `id: ${event.id}\n`;
  return `${name}${id}data: ${before}${event.payload}${after}\n\n`;
}

/** How one stream looks on the wire. */
export interface EventStreamForm {
  /** Text of the events that an item becomes; `""` when it becomes none. */
  write(item: StreamItem): string;
  /** Text that is to be said behind the last item; `""` for none. */
  writeEnd(): string;
  /** Text of the last event of a stream that fails after its beginning. */
  writeFailure(error: unknown): string;
}

/** The call that a stream answers. */
export interface EventStreamCall {
  readonly service: { readonly limits: { readonly keepAliveMs: number } };
  /** Called once when the stream has ended, however it came. */
  end(): void;
}

type Piece = Step<string>;

// By hand and not as a generator: a generator cannot be left while it waits, and costs three turns of the microtask queue
// for each event.

/** The text of a stream of items, in pieces; it reads its items from the start. */
export class EventStream implements AsyncIterableIterator<string> {
  /**
   * Resolves with the first event, or the end, or after two seconds without either, and rejects when the first event
   * fails: so an early failure can still get a status of its own.
   */
  readonly opened: Promise<void>;
  readonly #items: AsyncIterator<StreamItem>;
  readonly #form: EventStreamForm;
  readonly #call: EventStreamCall;
  readonly #ticker: ReturnType<typeof setInterval>;
  #open: { resolve(): void; reject(reason: unknown): void } | undefined;
  #openTimer: ReturnType<typeof setTimeout> | undefined;
  #taker: ((piece: Piece) => void) | undefined;
  #text = "";
  #source: "idle" | "reading" = "idle";
  #plan: "none" | "handOver" = "none";
  #phase: "live" | "over" = "live";
  #quietTicks = 0;

  constructor(items: AsyncIterable<StreamItem>, form: EventStreamForm, call: EventStreamCall) {
    const { keepAliveMs } = call.service.limits;
    this.#items = items[Symbol.asyncIterator]();
    this.#form = form;
    this.#call = call;
    this.#ticker = setInterval(() => this.#tick(), keepAliveMs / 2);
    this.opened = new Promise((resolve, reject) => {
      this.#open = { resolve, reject };
    });
    this.#openTimer = setTimeout(() => this.#openQuiet(), Math.min(openWaitMs, keepAliveMs));
    this.#read();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Piece> {
    if (this.#text !== "") return Promise.resolve(this.#take());
    if (this.#phase === "over") return Promise.resolve(over);
    return new Promise((resolve) => {
      this.#taker = resolve;
      this.#read();
    });
  }

  return(): Promise<Piece> {
    this.#text = "";
    if (this.#phase === "live") {
      this.#finish();
      // Not waited for: an iterator that is blocked ends when its own wait does.
      this.#items.return?.().then(undefined, noop);
    }
    this.#opening()?.resolve();
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
    this.#source = "idle";
    if (this.#phase === "over") return;
    const done = result.done === true;
    try {
      this.#text += done ? this.#form.writeEnd() : this.#form.write(result.value);
    } catch (error) {
      this.#items.return?.().then(undefined, noop);
      this.#onFailure(error);
      return;
    }
    if (done) this.#finish();
    this.#opening()?.resolve();
    if (done) this.#handOver();
    else this.#goOn();
  };

  /** Reads on while a reader waits for a piece, and hands it over when no more is ready. */
  #goOn(): void {
    if (this.#taker === undefined) return;
    if (this.#text.length >= pieceMaxLength) {
      // A subscription that is never short of events must not keep the event loop to itself.
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
    if (this.#text !== "" && this.#text.length < pieceMaxLength) this.#handOver();
  }

  /** Gives the waiting reader what is ready: text, or the end behind all of it. */
  #handOver(): void {
    if (this.#taker === undefined) return;
    if (this.#text !== "") this.#hand(this.#take());
    else if (this.#phase === "over") this.#hand(over);
  }

  readonly #onFailure = (error: unknown): void => {
    this.#source = "idle";
    if (this.#phase === "over") return;
    this.#finish();
    const opening = this.#opening();
    if (opening !== undefined) {
      opening.reject(error);
      return;
    }
    this.#text += this.#form.writeFailure(error);
    this.#handOver();
  };

  #take(): Piece {
    const value = this.#text;
    this.#text = "";
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
    this.#call.end();
  }

  /** Ends the time before the first event; gives what waits for it, once. */
  #opening(): { resolve(): void; reject(reason: unknown): void } | undefined {
    const open = this.#open;
    if (open === undefined) return undefined;
    this.#open = undefined;
    clearTimeout(this.#openTimer);
    this.#openTimer = undefined;
    return open;
  }

  #openQuiet(): void {
    this.#text += comment;
    this.#opening()?.resolve();
  }

  /** Two ticks without an event: says something, unless what was said before has not been taken. */
  #tick(): void {
    this.#quietTicks += 1;
    if (this.#quietTicks < 2 || this.#taker === undefined || this.#text !== "") return;
    this.#text = comment;
    this.#handOver();
  }
}

const inNextTurn: (run: () => void) => void =
  typeof setImmediate === "function" ? (run) => void setImmediate(run) : (run) => void setTimeout(run, 0);

/** Runs when the microtask queue is empty: by then all that was ready in this turn of the event loop has come. */
const afterMicrotasks: (run: () => void) => void =
  typeof process === "object" && typeof process.nextTick === "function"
    ? (run) => process.nextTick(run)
    : (run) => void setTimeout(run, 0);
