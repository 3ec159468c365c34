import { monotonic } from "../../protocol/async/clock.js";
import type { Scope } from "../../protocol/context.js";
import { type StoreTimes, Unanswered } from "../store-failure.js";

/** Bounds the reads of the store that one owner has at once. */
export type ReadGate = <T>(scope: Scope, read: () => Promise<T>) => Promise<T>;

interface WaitingRead {
  readonly since: number;
  readonly start: () => void;
  readonly refuse: (error: unknown) => void;
}

interface OwnerReads {
  active: number;
  readonly queue: WaitingRead[];
}

/**
 * Lets each owner have `max` reads at once; further ones wait in order. This keeps connections, or the thread of the
 * database, free for other owners. When a read has no answer in time, those that have waited for half of that time fail
 * with it: one after the other, each would wait for as long again.
 */
export function createReadGate(max: number, { clock, limits }: StoreTimes): ReadGate {
  const owners = new Map<string, OwnerReads>();

  const enter = (owner: string): Promise<void> | undefined => {
    const reads = owners.get(owner) ?? { active: 0, queue: [] };
    owners.set(owner, reads);
    if (reads.active < max) {
      reads.active += 1;
      return undefined;
    }
    return new Promise((start, refuse) => reads.queue.push({ since: monotonic(clock), start, refuse }));
  };

  // Those that have waited for longest come first.
  const refuseWaiting = (owner: string, error: Unanswered): void => {
    const { queue = [] } = owners.get(owner) ?? {};
    const until = monotonic(clock) - limits.storeWaitMs / 2;
    const first = queue.findIndex(({ since }) => since > until);
    for (const { refuse } of queue.splice(0, first < 0 ? queue.length : first)) refuse(error);
  };

  // A read that ends hands its permit to the one that has waited longest.
  const leave = (owner: string): void => {
    const reads = owners.get(owner);
    if (reads === undefined) return;
    const next = reads.queue.shift();
    if (next !== undefined) return next.start();
    reads.active -= 1;
    if (reads.active === 0) owners.delete(owner);
  };

  return async ({ tenant, owner }, read) => {
    const key = JSON.stringify([tenant, owner]);
    const admission = enter(key);
    if (admission !== undefined) await admission;
    try {
      return await read();
    } catch (error) {
      if (error instanceof Unanswered) refuseWaiting(key, error);
      throw error;
    } finally {
      leave(key);
    }
  };
}
