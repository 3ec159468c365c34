import { monotonic } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import type { Scope } from "../protocol/context.js";
import { exceedsShare, ownerKey } from "../protocol/fair-share.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";
import { type StoreTimes, Unanswered } from "./store-failure.js";

/** Runs a read in its owner's turn. `sizeOf`: the size of what it has read. Default: it takes no memory. */
export type ReadGate = <T>(scope: Scope, read: () => Promise<T>, sizeOf?: (result: T) => number) => Promise<T>;

/** Reads that an owner may have at once while the size of what it reads is not known. */
const firstReads = 4;
/** How much of the largest size remains after each smaller one. */
const decay = 0.75;

/**
 * The memory of what is being read, over all agents of a process. An owner may read half of what others leave of
 * `runningMaxBytes` at once, as its last reads tell how much one more will be.
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
  readonly queue: WaitingRead[];
  /** What one more read will take; `undefined` before the first one has ended. */
  expectedBytes: number | undefined;
  /** What is counted for the active ones. */
  countedBytes: number;
  stopTimer: () => void;
}

/**
 * Lets each owner have `max` reads at once, and no more than its share of the memory; further ones wait in order. This
 * keeps connections, the thread of the database, and the heap free for other owners. One read of an owner may always run.
 * When a read has no answer in time, those that have waited for half of that time fail with it: one after the other, each
 * would wait for as long again.
 */
export function createReadGate(max: number, { clock, limits }: StoreTimes, memory?: ReadMemory): ReadGate {
  const owners = new Map<string, OwnerReads>();

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
    const next = reads.queue.shift();
    if (next === undefined) return;
    count(owner, reads, 1);
    next.start();
  };

  // A read that never ends, as of a store that is silent, holds up the others for so long only.
  const startTimer = (owner: string, reads: OwnerReads): void => {
    reads.stopTimer();
    if (memory === undefined || reads.queue.length === 0) return;
    reads.stopTimer = memory.clock.after(memory.waitMs, () => {
      beginNext(owner, reads);
      startTimer(owner, reads);
    });
  };

  const enter = (owner: string, reads: OwnerReads): Promise<void> | undefined => {
    if (reads.queue.length === 0 && mayBegin(owner, reads)) {
      count(owner, reads, 1);
      return undefined;
    }
    const since = monotonic(clock);
    const admission = new Promise<void>((start, refuse) => reads.queue.push({ since, start, refuse }));
    if (reads.queue.length === 1) startTimer(owner, reads);
    return admission;
  };

  // Those that have waited for longest come first.
  const refuseWaiting = (reads: OwnerReads, error: Unanswered): void => {
    const until = monotonic(clock) - limits.storeWaitMs / 2;
    const first = reads.queue.findIndex(({ since }) => since > until);
    for (const { refuse } of reads.queue.splice(0, first < 0 ? reads.queue.length : first)) refuse(error);
  };

  // Reads that wait go on in their order.
  const leave = (owner: string, reads: OwnerReads): void => {
    count(owner, reads, -1);
    while (reads.queue.length > 0 && mayBegin(owner, reads)) beginNext(owner, reads);
    startTimer(owner, reads);
    if (reads.active === 0) owners.delete(owner);
  };

  return async (scope, read, sizeOf) => {
    const owner = ownerKey(scope);
    let reads = owners.get(owner);
    if (reads === undefined) {
      reads = { active: 0, queue: [], expectedBytes: undefined, countedBytes: 0, stopTimer: noop };
      owners.set(owner, reads);
    }
    const admission = enter(owner, reads);
    if (admission !== undefined) await admission;
    try {
      const result = await read();
      const bytes = sizeOf?.(result) ?? 0;
      reads.expectedBytes = Math.max(bytes, Math.floor((reads.expectedBytes ?? 0) * decay));
      return result;
    } catch (error) {
      if (error instanceof Unanswered) refuseWaiting(reads, error);
      throw error;
    } finally {
      leave(owner, reads);
    }
  };
}
