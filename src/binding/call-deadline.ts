import type { Clock } from "../protocol/async/clock.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";

/** The caller's side of one call. The wait ends when the caller aborts, its time runs out, or it leaves the stream. */
export class CallDeadline {
  /** Whether the caller has aborted or its time has run out. */
  isOver = false;
  /** The abort reason, or the `deadlineExceeded` error. */
  reason: unknown;
  /** Called when the caller aborts or its time runs out. */
  onOver: (() => void) | undefined;
  readonly #stops: (() => void)[] = [];
  #reject: ((reason: unknown) => void) | undefined;

  constructor({ signal, timeoutMs }: CallOptions, timers: Pick<Clock, "after">, leaveSignal?: AbortSignal) {
    if (signal !== undefined) this.#listen(signal, () => this.#giveUp(signal.reason));
    if (leaveSignal !== undefined) this.#listen(leaveSignal, () => this.#reject?.(leaveSignal.reason));
    if (timeoutMs === undefined || this.isOver) return;
    const late = (): void => this.#giveUp(new A2AError("deadlineExceeded", `no answer within ${timeoutMs} ms`));
    this.#stops.push(timers.after(timeoutMs, late));
  }

  /** Waits for one promise at a time. Rejects with the reason when the wait ends first. */
  until<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      work.then(resolve, reject);
      if (this.isOver) reject(this.reason);
    });
  }

  /** Removes all listeners and timers once the call is done. */
  end(): void {
    this.#reject = undefined;
    for (const stop of this.#stops.splice(0)) stop();
  }

  #listen(signal: AbortSignal, onAbort: () => void): void {
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    this.#stops.push(() => signal.removeEventListener("abort", onAbort));
  }

  #giveUp(reason: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.reason = reason;
    this.#reject?.(reason);
    this.onOver?.();
  }
}
