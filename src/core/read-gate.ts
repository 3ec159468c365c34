import { monotonic } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import type { Scope } from "../protocol/context.js";
import { FairQueue } from "../protocol/fair-queue.js";
import { exceedsShare, ownerKey } from "../protocol/fair-share.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";
import { type StoreTimes, Unanswered } from "./store-failure.js";

// Reads of the store, bounded for each owner: in number, and in memory by the size that the owner's last reads had.
//
//   enter ── fewer than `max` run, and the next one fits into the owner's share ──▶ it runs
//     └────── else ──▶ it waits, in order ── one of the owner's ends ──▶ it runs
//                          └── a read of the owner got no answer in time ──▶ it fails, unless it has just come
//
// This keeps connections, the thread of the database, and the heap free for other owners. Invariant: one read of an owner may
// always run, so that none waits for ever.

/** Runs a read when it is its owner's turn. `measure` returns the size of the result in bytes. Default: 0. */
export type ReadGate = <T>(scope: Scope, read: () => Promise<T>, measure?: (result: T) => number) => Promise<T>;

/** Concurrent reads of an owner until the size of its first result is known. */
const firstReads = 4;
/** How much of the largest size remains after each smaller one. */
const decay = 0.75;

/**
 * The memory of reads under way, over all agents of a process. An owner may read half of what others leave of
 * `runningMaxBytes` at once. The size of a read is estimated from the owner's last ones.
 */
export class ReadMemory {
  readonly clock: Clock;
  readonly waitMs: number;
  readonly #maxBytes: number;
  readonly #owners = new Map<string, number>();
  #bytes = 0;

  constructor(clock: Clock, { runningMaxBytes, storeRetryMs }: Pick<CoreLimits, "runningMaxBytes" | "storeRetryMs">) {
    this.clock = clock;
    this.waitMs = storeRetryMs;
    this.#maxBytes = runningMaxBytes;
  }

  fits(owner: string, bytes: number): boolean {
    return !exceedsShare((this.#owners.get(owner) ?? 0) + bytes, this.#bytes + bytes, this.#maxBytes);
  }

  count(owner: string, bytes: number): void {
    if (bytes === 0) return;
    this.#bytes += bytes;
    const own = (this.#owners.get(owner) ?? 0) + bytes;
    if (own === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, own);
  }
}

interface WaitingRead {
  readonly since: number;
  readonly start: () => void;
  readonly refuse: (error: unknown) => void;
}

interface OwnerReads {
  active: number;
  /** Expected bytes of the next read; `undefined` before the first one has ended. */
  expectedBytes: number | undefined;
  /** Bytes counted for the active reads. */
  countedBytes: number;
  stopTimer: () => void;
}

/**
 * Lets each owner have `max` reads at once, within its share of the memory; further ones wait in order. When a read has no
 * answer within `storeWaitMs`, the reads that have waited for half of that time fail too. Otherwise each would wait for as
 * long again.
 */
export function createReadGate(max: number, { clock, limits }: StoreTimes, memory?: ReadMemory): ReadGate {
  const owners = new Map<string, OwnerReads>();
  const waiting = new FairQueue<WaitingRead>();

  const mayBegin = (owner: string, { active, expectedBytes }: OwnerReads): boolean => {
    if (active === 0) return true;
    if (active >= max) return false;
    if (memory === undefined) return true;
    return expectedBytes === undefined ? active < firstReads : memory.fits(owner, expectedBytes);
  };

  const count = (owner: string, reads: OwnerReads, more: number): void => {
    reads.active += more;
    const bytes = reads.active * (reads.expectedBytes ?? 0);
    memory?.count(owner, bytes - reads.countedBytes);
    reads.countedBytes = bytes;
  };

  const beginNext = (owner: string, reads: OwnerReads): void => {
    const next = waiting.takeFrom(owner);
    if (next === undefined) return;
    count(owner, reads, 1);
    next.start();
  };

  // Limits how long a read that never ends, as with a silent store, holds up the others.
  const startTimer = (owner: string, reads: OwnerReads): void => {
    reads.stopTimer();
    if (memory === undefined || waiting.count(owner) === 0) return;
    reads.stopTimer = memory.clock.after(memory.waitMs, () => {
      beginNext(owner, reads);
      startTimer(owner, reads);
    });
  };

  const enter = (owner: string, reads: OwnerReads): Promise<void> | undefined => {
    if (waiting.count(owner) === 0 && mayBegin(owner, reads)) {
      count(owner, reads, 1);
      return undefined;
    }
    const since = monotonic(clock);
    const admission = new Promise<void>((start, refuse) => waiting.add(owner, { since, start, refuse }));
    if (waiting.count(owner) === 1) startTimer(owner, reads);
    return admission;
  };

  const refuseWaiting = (owner: string, error: Unanswered): void => {
    const until = monotonic(clock) - limits.storeWaitMs / 2;
    for (let next = waiting.first(owner); next !== undefined && next.since <= until; next = waiting.first(owner)) {
      waiting.takeFrom(owner);
      next.refuse(error);
    }
  };

  // Waiting reads start in order.
  const leave = (owner: string, reads: OwnerReads): void => {
    count(owner, reads, -1);
    while (waiting.count(owner) > 0 && mayBegin(owner, reads)) beginNext(owner, reads);
    startTimer(owner, reads);
    if (reads.active === 0) owners.delete(owner);
  };

  return async (scope, read, measure) => {
    const owner = ownerKey(scope);
    let reads = owners.get(owner);
    if (reads === undefined) {
      reads = { active: 0, expectedBytes: undefined, countedBytes: 0, stopTimer: noop };
      owners.set(owner, reads);
    }
    const admission = enter(owner, reads);
    if (admission !== undefined) await admission;
    try {
      const result = await read();
      const bytes = measure?.(result) ?? 0;
      reads.expectedBytes = Math.max(bytes, Math.floor((reads.expectedBytes ?? 0) * decay));
      return result;
    } catch (error) {
      if (error instanceof Unanswered) refuseWaiting(owner, error);
      throw error;
    } finally {
      leave(owner, reads);
    }
  };
}
