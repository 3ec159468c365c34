import { endStep } from "../protocol/async/steps.js";
import type { A2AError, ErrorCode } from "../protocol/errors.js";
import type { StreamItem } from "../protocol/operations.js";
import type { CallTrace } from "../protocol/telemetry/follow.js";

/** The figures of one call, for observers. */
export class CallMeter {
  /** Monotonic time at which the call began, in milliseconds. */
  readonly startMs: number;
  requestBytes = 0;
  /** Bytes of the reply, or of all events, as far as the binding knows them. */
  replyBytes = 0;
  /** Events of a stream. */
  events: number | undefined;
  /** How the call ended: "CANCELLED" if its caller left before. */
  code: "OK" | "CANCELLED" | ErrorCode = "OK";
  /** The error as the caller saw it. */
  error: A2AError | undefined;
  /** Its trace, once its operation has begun. */
  trace: CallTrace | undefined;

  constructor(startMs: number) {
    this.startMs = startMs;
  }

  /** Notes how the call ends; the first end counts. */
  fail(code: "CANCELLED" | ErrorCode, error?: A2AError): void {
    if (this.code !== "OK") return;
    this.code = code;
    this.error = error;
  }

  countReply(piece: string | Uint8Array): void {
    this.replyBytes += typeof piece === "string" ? byteLength(piece) : piece.length;
  }

  /** The same items, counted as they are read, within the trace. */
  count(items: AsyncIterable<StreamItem>): AsyncIterable<StreamItem> {
    this.events = 0;
    return { [Symbol.asyncIterator]: () => this.#countSteps(items[Symbol.asyncIterator]()) };
  }

  // Not a generator: one cannot be left while it waits.
  #countSteps(items: AsyncIterator<StreamItem>): AsyncIterator<StreamItem> {
    const next = (): Promise<IteratorResult<StreamItem>> => items.next();
    return {
      next: async () => {
        const step = await (this.trace?.run(next) ?? next());
        if (step.done !== true) this.events = (this.events ?? 0) + 1;
        return step;
      },
      return: async () => (await items.return?.()) ?? endStep,
    };
  }
}

const encoder = new TextEncoder();

const byteLength: (text: string) => number =
  typeof Buffer === "function" ? (text) => Buffer.byteLength(text) : (text) => encoder.encode(text).length;
