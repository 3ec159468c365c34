import { TaskState } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { isInterrupted, isTerminal } from "../../protocol/states.js";
import type { Head, LogRecord } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { streamItem } from "../task/tail.js";
import type { Watcher } from "../watch.js";
import { pageRecords } from "./read-task.js";

// How the log of a task is read on. A reader is a position; everything behind it is read, in order:
//
//   a turn of this process runs the task, and its tail reaches back    ──▶ from memory
//   else                                                               ──▶ a page of the store
//   nothing new                                                        ──▶ wait for a hint or the poll (`core/watch.ts`)
//
// Invariant: a hint between a read and the wait is not lost, since `#dirty` is cleared before the read.

/**
 * The next records, or why there are none. `idle`: all records were read, and no turn runs the task or it waits for
 * input.
 */
export type ReadResult = readonly LogRecord[] | "ended" | "compacted" | "idle" | "closed";

/**
 * A position in one task's log, with a wake-up. Reads from the tail of a turn in this process, else from the store. A
 * slow reader misses nothing and blocks no other reader.
 */
export class RecordReader implements Watcher {
  readonly taskId: string;
  key: number | undefined;
  /** Number of the last record read. */
  position: number;
  readonly #runtime: Runtime;
  #dirty = false;
  #closed = false;
  #isReading = false;
  /** The caller that waits for the next records, and whether it waits for an idle task. */
  #resolve: ((result: ReadResult | Promise<never>) => void) | undefined;
  #untilIdle = false;

  /** `key`: `undefined` until the task is created. `position`: number of the last record already read. */
  constructor(
    runtime: Runtime,
    { id, key }: { readonly id: string; readonly key: number | undefined },
    position: number,
  ) {
    this.#runtime = runtime;
    this.taskId = id;
    this.key = key;
    this.position = position;
    runtime.watch.add(this);
  }

  wake(): void {
    this.#dirty = true;
    if (this.#resolve !== undefined) void this.#read();
  }

  check(head: Head): void {
    if (head.seq > this.position) this.wake();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#runtime.watch.delete(this);
    this.wake();
  }

  /**
   * Waits for and returns the next records, at least one. `ended` when the task is terminal and all was read; `closed`
   * when the reader was closed and nothing is left to read. With `untilIdle` it does not wait for an idle task. One call
   * at a time.
   */
  next(untilIdle = false): Promise<ReadResult> {
    this.#dirty = false;
    const records = this.#fromTail();
    if (records !== undefined && records.length > 0) return Promise.resolve(this.#advance(records));
    this.#untilIdle = untilIdle;
    return new Promise((resolve) => {
      this.#resolve = resolve;
      void this.#read();
    });
  }

  // Ends with a result for the waiting caller, or with nothing new: an idle reader keeps no frame of a function.
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      do {
        this.#dirty = false;
        const records = this.#fromTail();
        if (records !== undefined && records.length > 0) return this.#settle(this.#advance(records));
        const result = records === undefined ? await this.#fromStore() : undefined;
        if (result !== undefined) return this.#settle(result);
        if (records !== undefined && this.#untilIdle && this.#isAsking()) return this.#settle("idle");
        if (this.#closed) return this.#settle("closed");
      } while (this.#dirty);
    } catch (error) {
      this.#settle(Promise.reject(error));
    } finally {
      this.#isReading = false;
    }
  }

  #settle(result: ReadResult | Promise<never>): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(result);
  }

  /** The stream item of a record just read. */
  makeItem(record: LogRecord & { readonly kind: "event" }, idPrefix: string): StreamItem {
    return this.#runtime.live.get(this.taskId)?.recentItems.get(record, idPrefix) ?? streamItem(record, idPrefix);
  }

  // Empty: up to date with the turn in this process. `undefined`: ask the store.
  #fromTail(): readonly LogRecord[] | undefined {
    const live = this.#runtime.live.get(this.taskId);
    if (live === undefined) return undefined;
    this.key ??= live.key;
    if (live.storedSeq > this.position) return live.tail.after(this.position);
    // This process knows nothing new of a task that it no longer writes or has lost without knowing.
    return live.closed || live.storedSeq < this.position ? undefined : [];
  }

  async #fromStore(): Promise<ReadResult | undefined> {
    if (this.key === undefined) return undefined;
    const page = await this.#runtime.store.recordsAfter(this.key, this.position, pageRecords);
    if (page === undefined) return "ended";
    if (page === "compacted") return "compacted";
    if (page.records.length > 0) return this.#advance(page.records);
    if (isTerminal(page.head.state)) return "ended";
    return this.#untilIdle && isIdle(page.head) ? "idle" : undefined;
  }

  #isAsking(): boolean {
    const { lease, live } = this.#runtime;
    return lease.valid && live.get(this.taskId)?.task.status?.state === TaskState.INPUT_REQUIRED;
  }

  #advance(records: readonly LogRecord[]): readonly LogRecord[] {
    this.position = records.at(-1)?.seq ?? this.position;
    return records;
  }
}

// A working task without a running turn is parked and will continue.
function isIdle({ holder, state }: Head): boolean {
  return state === TaskState.INPUT_REQUIRED || (holder === "" && isInterrupted(state));
}
