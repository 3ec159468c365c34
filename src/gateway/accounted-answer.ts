import { answerCounter } from "../binding/fetch/node-answer.js";
import type { CallMemory, ServerContext } from "../protocol/context.js";

/**
 * Books the agent's answer to one call as it arrives, until it is decoded. Aborts the call to the agent when there is no
 * room.
 */
export class AccountedAnswer {
  /** Aborts when the caller leaves, or when there is no room. */
  readonly signal: AbortSignal;
  readonly #memory: CallMemory | undefined;
  readonly #overflow = new AbortController();
  #bytes = 0;
  #ended = false;

  constructor({ memory, signal }: ServerContext) {
    this.#memory = memory;
    this.signal = memory === undefined ? signal : AbortSignal.any([signal, this.#overflow.signal]);
  }

  /** Why there was no room; `undefined` while there is. */
  get refusal(): unknown {
    return this.#overflow.signal.aborted ? this.#overflow.signal.reason : undefined;
  }

  /** Makes a call, or a part of one, whose answer is booked. */
  run<T>(call: () => T): T {
    return this.#memory === undefined ? call() : answerCounter.run(this.#book, call);
  }

  /** Releases what was booked: it is decoded, and booked as a reply from now on. */
  release(): void {
    this.#memory?.release(this.#bytes);
    this.#bytes = 0;
  }

  /** Releases what was booked and books no more. */
  end(): void {
    this.release();
    this.#ended = true;
  }

  readonly #book = (bytes: number): void => {
    if (this.#ended || this.#overflow.signal.aborted) return;
    try {
      this.#memory?.hold(bytes);
      this.#bytes += bytes;
    } catch (refusal) {
      this.#overflow.abort(refusal);
    }
  };
}
