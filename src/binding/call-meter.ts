import { over } from "../protocol/async/steps.js";
import type { ErrorCode } from "../protocol/errors.js";
import type { StreamItem } from "../protocol/operations.js";

/** What an access log counts of one call. */
export class CallMeter {
  /** Monotonic time at which the call began, in milliseconds. */
  readonly begunMs: number;
  requestBytes = 0;
  /** Bytes of the reply, or of all events, as far as the binding knows them. */
  replyBytes = 0;
  /** Events of a stream. */
  events: number | undefined;
  /** How the call ended: "CANCELLED" if its caller left before. */
  code: "OK" | "CANCELLED" | ErrorCode = "OK";

  constructor(begunMs: number) {
    this.begunMs = begunMs;
  }

  sent(piece: string | Uint8Array): void {
    this.replyBytes += typeof piece === "string" ? byteLength(piece) : piece.length;
  }

  /** The same items, counted as they are read. */
  counted(items: AsyncIterable<StreamItem>): AsyncIterable<StreamItem> {
    this.events = 0;
    return { [Symbol.asyncIterator]: () => this.#counting(items[Symbol.asyncIterator]()) };
  }

  // Not a generator: one cannot be left while it waits.
  #counting(items: AsyncIterator<StreamItem>): AsyncIterator<StreamItem> {
    return {
      next: async () => {
        const step = await items.next();
        if (step.done !== true) this.events = (this.events ?? 0) + 1;
        return step;
      },
      return: async () => (await items.return?.()) ?? over,
    };
  }
}

const encoder = new TextEncoder();

const byteLength: (text: string) => number =
  typeof Buffer === "function" ? (text) => Buffer.byteLength(text) : (text) => encoder.encode(text).length;
