import type { Clock } from "../../core/ports.js";
import { A2AError } from "../../protocol/errors.js";
import { Fifo } from "./fifo.js";
import type { TaskEntry } from "./task-entry.js";

/** How much a memory store keeps. */
export interface RetentionLimits {
  readonly maxBytes: number;
  readonly finishedLogMs: number;
  readonly finishedLogMaxBytes: number;
}

interface FinishedLog {
  readonly entry: TaskEntry;
  readonly at: number;
  readonly bytes: number;
}

/** Counts bytes, and drops the oldest finished tasks and logs. */
export class Retention {
  readonly #limits: RetentionLimits;
  readonly #clock: Clock;
  readonly #drop: (entry: TaskEntry) => void;
  readonly #tasks = new Fifo<TaskEntry>();
  readonly #logs = new Fifo<FinishedLog>();
  #bytes = 0;
  #finishedBytes = 0;
  #finishedLogBytes = 0;
  #stopTimer: (() => void) | undefined;

  /** `drop` removes a task from the store. */
  constructor(limits: RetentionLimits, clock: Clock, drop: (entry: TaskEntry) => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#drop = drop;
  }

  /** Makes room for a new task. Throws `resourceExhausted` when unfinished tasks leave none. */
  admit(bytes: number): void {
    const { maxBytes } = this.#limits;
    if (this.#bytes - this.#finishedBytes + bytes > maxBytes) {
      throw new A2AError("resourceExhausted", `tasks take more than ${maxBytes} bytes of memory`, {
        retryAfterMs: 1_000,
      });
    }
    while (this.#bytes + bytes > maxBytes && this.#tasks.size > 0) this.#dropTask();
  }

  /** Must be called after every write with the growth of the task, which itself is kept whatever its size. */
  written(entry: TaskEntry, growth: number): void {
    this.#bytes += growth;
    if (entry.finished) this.#finishedBytes += growth;
    while (this.#bytes > this.#limits.maxBytes && this.#canDrop(entry)) this.#dropTask();
  }

  finish(entry: TaskEntry): void {
    entry.finished = true;
    this.#finishedBytes += entry.bytes;
    this.#tasks.push(entry);
    this.#logs.push({ entry, at: this.#clock.now(), bytes: entry.logBytes });
    this.#finishedLogBytes += entry.logBytes;
    while (this.#finishedLogBytes > this.#limits.finishedLogMaxBytes) this.#dropLog();
    this.#schedule();
  }

  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#tasks.clear();
    this.#logs.clear();
  }

  #canDrop(written: TaskEntry): boolean {
    const oldest = this.#tasks.peek();
    return oldest !== undefined && oldest !== written;
  }

  #dropTask(): void {
    const entry = this.#tasks.shift();
    if (entry === undefined) return;
    if (this.#logs.peek()?.entry === entry) this.#dropLog();
    this.#bytes -= entry.bytes;
    this.#finishedBytes -= entry.bytes;
    this.#drop(entry);
  }

  #dropLog(): void {
    const log = this.#logs.shift();
    if (log === undefined) return;
    this.#finishedLogBytes -= log.bytes;
    const before = log.entry.bytes;
    log.entry.compact();
    const freed = before - log.entry.bytes;
    this.#bytes -= freed;
    this.#finishedBytes -= freed;
  }

  /** One timer for the oldest log. */
  #schedule(): void {
    const oldest = this.#logs.peek();
    if (oldest === undefined || this.#stopTimer !== undefined) return;
    const due = oldest.at + this.#limits.finishedLogMs - this.#clock.now();
    this.#stopTimer = this.#clock.after(Math.max(due, 0), () => this.#dropOldLogs());
  }

  #dropOldLogs(): void {
    this.#stopTimer = undefined;
    const limit = this.#clock.now() - this.#limits.finishedLogMs;
    for (let log = this.#logs.peek(); log !== undefined && log.at <= limit; log = this.#logs.peek()) this.#dropLog();
    this.#schedule();
  }
}
