import type { Clock } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
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

/** Another user of the memory, which drops its data when no finished task is left to drop. */
export interface OtherMemory {
  readonly bytes: number;
  dropOldest(): boolean;
}

/** Counts bytes, and drops the oldest finished tasks and logs. */
export class Retention {
  readonly #limits: RetentionLimits;
  readonly #clock: Clock;
  readonly #drop: (entry: TaskEntry) => void;
  readonly #otherMemory: OtherMemory;
  readonly #tasks = new Fifo<TaskEntry>();
  readonly #logs = new Fifo<FinishedLog>();
  /** Bytes of the unfinished tasks of each owner. */
  readonly #owners = new Map<string, number>();
  #bytes = 0;
  #finishedBytes = 0;
  #finishedLogBytes = 0;
  #stopTimer: (() => void) | undefined;

  /** `drop` removes a task from the store. */
  constructor(
    limits: RetentionLimits,
    clock: Clock,
    { drop, otherMemory }: { readonly drop: (entry: TaskEntry) => void; readonly otherMemory: OtherMemory },
  ) {
    this.#limits = limits;
    this.#clock = clock;
    this.#drop = drop;
    this.#otherMemory = otherMemory;
  }

  /**
   * Makes room for a caller's data. Throws `resourceExhausted` when unfinished tasks leave none, or when those of
   * the owner take more than half of what the others leave. Callers that cannot be distinguished share all of it.
   */
  admit(bytes: number, scope: Scope): void {
    const { maxBytes } = this.#limits;
    const unfinished = this.#bytes - this.#finishedBytes;
    const own = this.#owners.get(ownerOf(scope)) ?? 0;
    if (scope.owner !== "" && own > 0 && own + bytes > (maxBytes - (unfinished - own)) / 2) {
      throw new A2AError(
        "resourceExhausted",
        `the memory store is full: unfinished tasks of this caller take more than half of what others leave of ${maxBytes} bytes (maxBytes)`,
        { retryAfterMs: 1_000 },
      );
    }
    if (unfinished + bytes > maxBytes) {
      throw new A2AError(
        "resourceExhausted",
        `the memory store is full: tasks take more than ${maxBytes} bytes (maxBytes)`,
        {
          retryAfterMs: 1_000,
        },
      );
    }
    this.makeRoom(bytes);
  }

  /** Drops finished tasks and other data until `bytes` more fit. `keep`: a task that must stay. */
  makeRoom(bytes = 0, keep?: TaskEntry): void {
    while (this.#bytes + this.#otherMemory.bytes + bytes > this.#limits.maxBytes) {
      if (this.#canDrop(keep)) this.#dropTask();
      else if (!this.#otherMemory.dropOldest()) return;
    }
  }

  /** Counts the growth of a task after every write. The task itself is kept, whatever its size. */
  grow(entry: TaskEntry, growth: number): void {
    this.#bytes += growth;
    if (entry.finished) this.#finishedBytes += growth;
    else this.#count(entry, growth);
    this.makeRoom(0, entry);
  }

  finish(entry: TaskEntry): void {
    entry.finished = true;
    this.#count(entry, -entry.bytes);
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
    this.#owners.clear();
  }

  #count({ scope }: TaskEntry, growth: number): void {
    const owner = ownerOf(scope);
    const bytes = (this.#owners.get(owner) ?? 0) + growth;
    if (bytes === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, bytes);
  }

  #canDrop(keep: TaskEntry | undefined): boolean {
    const oldest = this.#tasks.peek();
    return oldest !== undefined && oldest !== keep;
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
    const freedBytes = before - log.entry.bytes;
    this.#bytes -= freedBytes;
    this.#finishedBytes -= freedBytes;
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

function ownerOf({ agent, tenant, owner }: Scope): string {
  return JSON.stringify([agent, tenant, owner]);
}
