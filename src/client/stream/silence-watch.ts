import type { Clock } from "../../protocol/async/clock.js";

/** Calls back when a stream has been silent for a while, then at growing intervals while it stays silent. */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #firstMs: number;
  readonly #onSilence: () => Promise<void>;
  /** Set by each event, at no further cost; the timer checks it. */
  #hasEvent = false;
  #pauseMs = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, firstMs: number, onSilence: () => Promise<void>) {
    this.#clock = clock;
    this.#firstMs = firstMs;
    this.#onSilence = onSilence;
  }

  start(): void {
    this.stop();
    this.#hasEvent = false;
    this.#pauseMs = this.#firstMs;
    this.#wait();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** An event arrived since the last check. */
  get hasEvent(): boolean {
    return this.#hasEvent;
  }

  noteEvent(): void {
    this.#hasEvent = true;
  }

  #wait(): void {
    this.#cancel = this.#clock.after(this.#pauseMs, () => void this.#onTimer());
  }

  async #onTimer(): Promise<void> {
    const cancel = this.#cancel;
    if (this.#hasEvent) {
      this.#pauseMs = this.#firstMs;
    } else {
      this.#pauseMs = Math.min(this.#pauseMs * 1.5, this.#firstMs * 10);
      await this.#onSilence();
    }
    this.#hasEvent = false;
    // Stopped or restarted meanwhile.
    if (this.#cancel === cancel) this.#wait();
  }
}
