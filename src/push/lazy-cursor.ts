import type { Clock } from "../core/ports.js";

export interface LazyCursorOptions {
  readonly clock: Clock;
  /** What the store has. */
  readonly cursor: number;
  readonly write: (cursor: number) => Promise<void>;
  /** Hears of the first of several failures in a row; writing is tried again. */
  readonly onError: (error: unknown) => void;
}

const cursorMs = 1000;

/**
 * How far a webhook has been told, on its way into the store: a second later, and with it all that was told until then, so
 * that an event costs no write. What is delivered but not written may be delivered again after a crash. Deliveries do not wait for it.
 */
export class LazyCursor {
  readonly #options: LazyCursorOptions;
  #delivered: number;
  #stored: number;
  #failed: boolean = false;
  #ended: boolean = false;
  #writing: Promise<void> | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: LazyCursorOptions) {
    this.#options = options;
    this.#delivered = options.cursor;
    this.#stored = options.cursor;
  }

  /** All up to here has been dealt with. */
  move(cursor: number): void {
    this.#delivered = cursor;
    this.#schedule();
  }

  /** Writes what is not written yet, and nothing more after that. Never rejects. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#cancel?.();
    await this.#writing;
    await this.#write();
  }

  /** There is nothing to write any more. */
  drop(): void {
    this.#ended = true;
    this.#cancel?.();
    this.#delivered = this.#stored;
  }

  #schedule(): void {
    if (this.#ended || this.#writing !== undefined || this.#delivered <= this.#stored) return;
    this.#cancel ??= this.#options.clock.after(cursorMs, () => {
      this.#cancel = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        this.#schedule();
      });
    });
  }

  async #write(): Promise<void> {
    const cursor = this.#delivered;
    if (cursor <= this.#stored) return;
    try {
      await this.#options.write(cursor);
      this.#stored = cursor;
      this.#failed = false;
    } catch (error) {
      if (!this.#failed) this.#options.onError(error);
      this.#failed = true;
    }
  }
}
