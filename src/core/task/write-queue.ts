import { noop } from "../../protocol/async/noop.js";
import type { CoreLimits } from "../limits.js";
import type { AppendResult } from "../ports.js";
import type { Draft } from "./draft.js";
import type { Outcome } from "./write.js";
import { exclusiveBatch, join, openBatch, promiseOf, type WriteBatch, type WriteExtras } from "./write-batch.js";

/** Makes the writes of a queue, one at a time. */
export interface BatchWriter {
  /** Sends a batch to the store. */
  write(batch: WriteBatch): Promise<Outcome>;
  /** Applies what the store answered, and returns the result for the batch. Throws what the batch fails with. */
  apply(batch: WriteBatch, outcome: Outcome): AppendResult;
  /** A write failed for good: closes or interrupts the queue. */
  fail(batch: WriteBatch, error: unknown): void;
  /** Called with the change of the bytes that wait for the store. */
  hold(bytes: number): void;
}

/**
 * The records of a live task on their way to the store. One write is under way; records accepted meanwhile share the
 * next one. The common case awaits only the store and makes no promise of its own.
 */
export class WriteQueue {
  readonly #limits: Pick<CoreLimits, "batchMaxEvents" | "batchMaxBytes">;
  readonly #writer: BatchWriter;
  readonly #batches: WriteBatch[] = [];
  #writing = false;
  #waiters: (() => void)[] = [];
  /** Makes the error for records of a queue that is closed or interrupted. */
  #refusal: (() => unknown) | undefined;

  constructor(limits: Pick<CoreLimits, "batchMaxEvents" | "batchMaxBytes">, writer: BatchWriter) {
    this.#limits = limits;
    this.#writer = writer;
  }

  /** Accepts records for one write: at once if none is under way, else with the next one. */
  add(drafts: readonly Draft[]): void {
    this.#accept(drafts);
    this.#schedule();
  }

  /** The same for records that must be stored before the turn continues; resolves when they are. */
  addStored(drafts: readonly Draft[], extras: WriteExtras | undefined): Promise<void> {
    const batch = this.#accept(drafts);
    if (extras !== undefined) batch.extras = { ...batch.extras, ...extras };
    const commit = promiseOf(batch);
    this.#schedule();
    // The inbox can refuse only a write that ends a turn, and that is an exclusive one.
    return commit.then(noop);
  }

  /** A separate write after everything accepted so far. Resolves with whether it was refused. */
  exclusive(drafts: readonly Draft[], extras: WriteExtras): Promise<AppendResult> {
    if (this.#refusal !== undefined) return Promise.reject(this.#refusal());
    const batch = exclusiveBatch(drafts, extras);
    this.#batches.push(batch);
    this.#writer.hold(batch.bytes);
    const result = promiseOf(batch);
    this.#schedule();
    return result;
  }

  /** Resolves when everything accepted so far is stored, or the queue is closed. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#nextCommit();
  }

  get isWriting(): boolean {
    return this.#writing;
  }

  /** `undefined` while the turn may be further ahead of the store, else a promise that resolves when it may. */
  room(): Promise<void> | undefined {
    const last = this.#batches.at(-1);
    if (last === undefined) return undefined;
    const { batchMaxEvents, batchMaxBytes } = this.#limits;
    const full = last.drafts.length >= batchMaxEvents || last.bytes >= batchMaxBytes || this.#batches.length > 2;
    return full ? this.#nextCommit() : undefined;
  }

  /** Accepts records again after an interruption. */
  resume(): void {
    this.#refusal = undefined;
  }

  /** Rejects what waits, and all that follows, with the error that `refusal` makes. */
  close(refusal: () => unknown): void {
    this.#refusal = refusal;
    for (const { bytes, resolvers } of this.#batches.splice(0)) {
      this.#writer.hold(-bytes);
      resolvers?.reject(refusal());
    }
    this.#wake();
  }

  #accept(drafts: readonly Draft[]): WriteBatch {
    if (this.#refusal !== undefined) throw this.#refusal();
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.alone) {
      batch = openBatch();
      this.#batches.push(batch);
    }
    const before = batch.bytes;
    join(batch, drafts);
    this.#writer.hold(batch.bytes - before);
    return batch;
  }

  // At the end of the tick: events that an agent emits without waiting in between share one write.
  #schedule(): void {
    if (this.#writing) return;
    this.#writing = true;
    process.nextTick(() => void this.#writePending());
  }

  async #writePending(): Promise<void> {
    for (let batch = this.#batches.shift(); batch !== undefined; batch = this.#batches.shift()) {
      try {
        const result = this.#writer.apply(batch, await this.#writer.write(batch));
        batch.resolvers?.resolve(result);
      } catch (error) {
        batch.resolvers?.reject(error);
        this.#writer.fail(batch, error);
      }
      this.#writer.hold(-batch.bytes);
      this.#wake();
    }
    this.#writing = false;
    this.#wake();
  }

  #nextCommit(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
