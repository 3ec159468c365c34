import type { Clock } from "../protocol/async/clock.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";

/** How long the caller of one call waits: until it aborts, its time is over, or it leaves its stream. */
export class CallDeadline {
  /** The caller has aborted, or its time is over. */
  isOver = false;
  /** Why it waits no longer. */
  reason: unknown;
  /** Is called when it aborts, or its time is over. */
  onOver: (() => void) | undefined;
  readonly #stops: (() => void)[] = [];
  #reject: ((reason: unknown) => void) | undefined;

  constructor({ signal, timeoutMs }: CallOptions, timers: Pick<Clock, "after">, left?: AbortSignal) {
    if (signal !== undefined) this.#hear(signal, () => this.#giveUp(signal.reason));
    if (left !== undefined) this.#hear(left, () => this.#reject?.(left.reason));
    if (timeoutMs === undefined || this.isOver) return;
    const late = (): void => this.#giveUp(new A2AError("deadlineExceeded", `no answer within ${timeoutMs} ms`));
    this.#stops.push(timers.after(timeoutMs, late));
  }

  /** Waits for one thing at a time; rejects with the reason when the caller waits no longer. */
  until<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
      if (this.isOver) reject(this.reason);
    });
  }

  /** The call is done: nothing is listened to any more. */
  end(): void {
    this.#reject = undefined;
    for (const stop of this.#stops.splice(0)) stop();
  }

  #hear(signal: AbortSignal, heard: () => void): void {
    if (signal.aborted) {
      heard();
      return;
    }
    signal.addEventListener("abort", heard, { once: true });
    this.#stops.push(() => signal.removeEventListener("abort", heard));
  }

  #giveUp(reason: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.reason = reason;
    this.#reject?.(reason);
    this.onOver?.();
  }
}
