import type { Runtime } from "../runtime.js";
import { shuttingDown } from "../turn-slots.js";
import type { Watcher } from "../watch.js";

/**
 * Rings when a task may have changed, even one that does not exist yet. It also rings at every poll, since hints may be
 * lost. A hint without a waiting listener is kept for the next one.
 */
export class TaskWaiter implements Watcher {
  readonly taskId: string;
  readonly key: undefined;
  readonly #runtime: Runtime;
  readonly #signal: AbortSignal;
  #isRung = false;
  #failure: { readonly reason: unknown } | undefined;
  #resolve: (() => void) | undefined;

  /** `signal`: aborted when the caller leaves. */
  constructor(runtime: Runtime, taskId: string, signal: AbortSignal) {
    this.#runtime = runtime;
    this.taskId = taskId;
    this.#signal = signal;
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
    runtime.watch.add(this);
  }

  /** Resolves at the next ring. Rejects when the caller has left or the process stops. */
  async next(): Promise<void> {
    if (!this.#isRung && this.#failure === undefined) {
      const ring = new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
      const cancel = this.#runtime.clock.after(this.#runtime.limits.pollMs, () => this.wake());
      await ring;
      cancel();
    }
    this.#isRung = false;
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  wake(): void {
    this.#isRung = true;
    this.#resolve?.();
  }

  check(): void {
    this.wake();
  }

  close(): void {
    this.#fail(shuttingDown());
  }

  stop(): void {
    this.#signal.removeEventListener("abort", this.#leave);
    this.#runtime.watch.delete(this);
  }

  readonly #leave = (): void => this.#fail(this.#signal.reason);

  #fail(reason: unknown): void {
    this.#failure ??= { reason };
    this.wake();
  }
}
