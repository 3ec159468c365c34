import type { Scope } from "../../protocol/context.js";

/** Bounds the reads of the store that one owner has at once. */
export type ReadGate = <T>(scope: Scope, read: () => Promise<T>) => Promise<T>;

interface OwnerReads {
  active: number;
  readonly queue: (() => void)[];
}

/**
 * Lets each owner have `max` reads at once; further ones wait in order. This keeps connections, or the thread of the
 * database, free for other owners.
 */
export function createReadGate(max: number): ReadGate {
  const owners = new Map<string, OwnerReads>();

  const enter = (owner: string): Promise<void> | undefined => {
    const reads = owners.get(owner) ?? { active: 0, queue: [] };
    owners.set(owner, reads);
    if (reads.active < max) {
      reads.active += 1;
      return undefined;
    }
    return new Promise((resolve) => reads.queue.push(resolve));
  };

  // A read that ends hands its permit to the one that has waited longest.
  const leave = (owner: string): void => {
    const reads = owners.get(owner);
    if (reads === undefined) return;
    const next = reads.queue.shift();
    if (next !== undefined) return next();
    reads.active -= 1;
    if (reads.active === 0) owners.delete(owner);
  };

  return async ({ tenant, owner }, read) => {
    const key = JSON.stringify([tenant, owner]);
    const admission = enter(key);
    if (admission !== undefined) await admission;
    try {
      return await read();
    } finally {
      leave(key);
    }
  };
}
