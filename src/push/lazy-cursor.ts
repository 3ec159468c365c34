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
 * for it. One write is under way at a time; one that fails is made again with the progress until then.
 */
export class LazyCursor {
  readonly #options: LazyCursorOptions;
  #position: number;
  #storedPosition: number;
  #hasFailed: boolean = false;
  #isEnded: boolean = false;
  #writing: Promise<void> | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: LazyCursorOptions) {
    this.#options = options;
    this.#position = options.cursor;
    this.#storedPosition = options.cursor;
  }

  /** Everything up to here has been handled. */
  move(cursor: number): void {
    this.#position = cursor;
    this.#schedule();
  }

  /** Writes the rest, and nothing afterwards. Never rejects. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#cancel?.();
    await this.#writing;
    await this.#write();
  }

  /** Discards what is not written yet. */
  drop(): void {
    this.#isEnded = true;
    this.#cancel?.();
    this.#position = this.#storedPosition;
  }

  #schedule(): void {
    if (this.#isEnded || this.#writing !== undefined || this.#position <= this.#storedPosition) return;
    this.#cancel ??= this.#options.clock.after(cursorMs, () => {
      this.#cancel = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        this.#schedule();
      });
    });
  }

  async #write(): Promise<void> {
    const cursor = this.#position;
    if (cursor <= this.#storedPosition) return;
    try {
      await this.#options.write(cursor);
      this.#storedPosition = cursor;
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#options.onError(error);
      this.#hasFailed = true;
    }
  }
}
