import type { Clock } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { exceedsShare, ownerKey } from "../../protocol/fair-share.js";
import { createLink, type Link, Recency } from "../../protocol/recency.js";
import type { TaskEntry } from "./task-entry.js";

// What a memory store drops, and when. A task is unfinished, then finished with its log, then finished without it, and then
// dropped. Only the last two steps happen here: logs go after a time or when all logs are too large, tasks when room is
// needed. Finished tasks stand in the order in which they ended, among all and among those of their owner; `#oldestLog` is
// the first that still has its log, and all after it have theirs. The bytes of each owner, and the sums of all, change with
// every write (`#count`), so that admitting a write and choosing what to drop walk no list of tasks.

/** How much a memory store keeps. */
export interface RetentionLimits {
  readonly maxBytes: number;
  readonly finishedLogMs: number;
  readonly finishedLogMaxBytes: number;
}

/** A task that has ended. */
export class FinishedTask {
  readonly entry: TaskEntry;
  readonly owner: Owner;
  /** When it ended, and the size of its log then. */
  readonly at: number;
  readonly logBytes: number;
  hasLog = true;
  /** Its places among all of them and among those of its owner. */
  readonly amongAll: Link<FinishedTask> = createLink<FinishedTask>(this);
  readonly amongOwn: Link<FinishedTask> = createLink<FinishedTask>(this);

  constructor(entry: TaskEntry, owner: Owner, at: number) {
    this.entry = entry;
    this.owner = owner;
    this.at = at;
    this.logBytes = entry.logBytes;
  }
}

/** Totals of an owner over all agents. */
interface Owner {
  readonly key: string;
  /** Whether its callers are distinguished from others. */
  readonly isNamed: boolean;
  readonly finished: Recency<FinishedTask>;
  unfinishedBytes: number;
  finishedBytes: number;
}

/** Another user of the memory, which drops its data when no finished task is left to drop. */
export interface OtherMemory {
  readonly bytes: number;
  dropOldest(): boolean;
}

/**
 * Counts bytes, refuses those that take too much, and drops finished tasks and logs, the oldest first. The unfinished tasks of an
 * owner take at most half of what those of others leave. Finished ones may take all that is left, but when room is needed
 * those of an owner that keeps more than its share are dropped before any other.
 */
export class Retention {
  readonly #limits: RetentionLimits;
  readonly #clock: Clock;
  readonly #drop: (entry: TaskEntry) => void;
  readonly #otherMemory: OtherMemory;
  readonly #tasks = new Recency<FinishedTask>();
  /** The oldest task with a log: logs are dropped in the order in which their tasks ended. */
  #oldestLog: FinishedTask | undefined;
  readonly #owners = new Map<string, Owner>();
  /** Owners that kept more than their share when they wrote last. */
  readonly #overShare = new Set<Owner>();
  #unfinishedBytes = 0;
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
   * Makes room for what a caller or its agent adds. Throws `resourceExhausted` when unfinished tasks leave none, or when those of
   * the owner would take more than its share. Its first task may, or a small limit would refuse every task. Callers that cannot
   * be distinguished share all of it.
   */
  admit(bytes: number, scope: Scope): void {
    if (bytes <= 0) return;
    const { maxBytes } = this.#limits;
    const own = this.#owners.get(ownerKey(scope))?.unfinishedBytes ?? 0;
    const all = this.#unfinishedBytes + bytes;
    if (scope.owner !== "" && own > 0 && exceedsShare(own + bytes, all, maxBytes)) {
      throw full(
        `unfinished tasks of this caller take more than half of what others leave of ${maxBytes} bytes (maxBytes)`,
      );
    }
    if (all > maxBytes) throw full(`tasks take more than ${maxBytes} bytes (maxBytes)`);
    this.makeRoom(bytes);
  }

  /** Drops finished tasks and other data until `bytes` more fit. `keep`: a task that must stay. */
  makeRoom(bytes = 0, keep?: TaskEntry): void {
    while (this.#unfinishedBytes + this.#finishedBytes + this.#otherMemory.bytes + bytes > this.#limits.maxBytes) {
      const task = this.#nextToDrop(keep);
      if (task !== undefined) this.#dropTask(task);
      else if (!this.#otherMemory.dropOldest()) return;
    }
  }

  /** Counts the growth of a task after every write. The task itself is kept, whatever its size. */
  grow(entry: TaskEntry, growth: number): void {
    this.#count(entry.finished?.owner ?? this.#owner(entry.scope), growth, entry.finished !== undefined);
    this.makeRoom(0, entry);
  }

  finish(entry: TaskEntry): void {
    const owner = this.#owner(entry.scope);
    const task = new FinishedTask(entry, owner, this.#clock.now());
    entry.finished = task;
    this.#tasks.add(task.amongAll);
    this.#oldestLog ??= task;
    owner.finished.add(task.amongOwn);
    this.#count(owner, entry.bytes, true);
    this.#count(owner, -entry.bytes, false);
    this.#finishedLogBytes += task.logBytes;
    while (this.#finishedLogBytes > this.#limits.finishedLogMaxBytes) this.#dropLog(this.#oldestLog);
    this.#schedule();
  }

  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#tasks.clear();
    this.#oldestLog = undefined;
    this.#owners.clear();
    this.#overShare.clear();
  }

  #owner(scope: Scope): Owner {
    const key = ownerKey(scope);
    let owner = this.#owners.get(key);
    if (owner === undefined) {
      const isNamed = scope.owner !== "";
      owner = { key, isNamed, finished: new Recency(), unfinishedBytes: 0, finishedBytes: 0 };
      this.#owners.set(key, owner);
    }
    return owner;
  }

  #count(owner: Owner, growth: number, isFinished: boolean): void {
    if (isFinished) {
      this.#finishedBytes += growth;
      owner.finishedBytes += growth;
    } else {
      this.#unfinishedBytes += growth;
      owner.unfinishedBytes += growth;
    }
    if (this.#isOverShare(owner)) this.#overShare.add(owner);
    if (owner.unfinishedBytes > 0 || owner.finishedBytes > 0) return;
    this.#owners.delete(owner.key);
    this.#overShare.delete(owner);
  }

  // Finished tasks of others are no reason to drop one's own.
  #isOverShare({ isNamed, unfinishedBytes, finishedBytes }: Owner): boolean {
    return (
      isNamed &&
      exceedsShare(unfinishedBytes + finishedBytes, this.#unfinishedBytes + finishedBytes, this.#limits.maxBytes)
    );
  }

  #nextToDrop(keep: TaskEntry | undefined): FinishedTask | undefined {
    for (const owner of this.#overShare) {
      const task = owner.finished.oldest;
      if (task === undefined || !this.#isOverShare(owner)) this.#overShare.delete(owner);
      else if (task.entry !== keep) return task;
    }
    const task = this.#tasks.oldest;
    return task?.entry === keep ? undefined : task;
  }

  #dropTask(task: FinishedTask): void {
    const { entry, owner } = task;
    this.#dropLog(task);
    this.#tasks.delete(task.amongAll);
    owner.finished.delete(task.amongOwn);
    this.#count(owner, -entry.bytes, true);
    this.#drop(entry);
  }

  #dropLog(task: FinishedTask | undefined): void {
    if (task?.hasLog !== true) return;
    task.hasLog = false;
    if (this.#oldestLog === task) this.#oldestLog = task.amongAll.newer?.item;
    this.#finishedLogBytes -= task.logBytes;
    const before = task.entry.bytes;
    task.entry.compact();
    this.#count(task.owner, task.entry.bytes - before, true);
  }

  /** One timer for the oldest log. */
  #schedule(): void {
    const oldest = this.#oldestLog;
    if (oldest === undefined || this.#stopTimer !== undefined) return;
    const due = oldest.at + this.#limits.finishedLogMs - this.#clock.now();
    this.#stopTimer = this.#clock.after(Math.max(due, 0), () => this.#dropOldLogs());
  }

  #dropOldLogs(): void {
    this.#stopTimer = undefined;
    const limit = this.#clock.now() - this.#limits.finishedLogMs;
    for (let task = this.#oldestLog; task !== undefined && task.at <= limit; task = this.#oldestLog)
      this.#dropLog(task);
    this.#schedule();
  }
}

function full(detail: string): A2AError {
  return new A2AError("resourceExhausted", `the memory store is full: ${detail}`, {
    retryAfterMs: 1_000,
    metadata: { limit: "maxBytes" },
  });
}
