import type { Clock } from "../core/ports.js";

export interface LazyCursorOptions {
  readonly clock: Clock;
  /** The cursor in the store. */
  readonly cursor: number;
  readonly write: (cursor: number) => Promise<void>;
  /** Called with the first of consecutive failures; the write is retried. */
  readonly onError: (error: unknown) => void;
}

const cursorMs = 1000;

/**
 * A delivery cursor that is written to the store a second later, together with all progress until then, so that an
 * event costs no write. Events delivered but not recorded may be delivered again after a crash. Deliveries do not wait
 * for it.
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

  /** Everything up to here has been handled. */
  move(cursor: number): void {
    this.#delivered = cursor;
    this.#schedule();
  }

  /** Writes the rest, and nothing afterwards. Never rejects. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#cancel?.();
    await this.#writing;
    await this.#write();
  }

  /** Discards what is not written yet. */
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
