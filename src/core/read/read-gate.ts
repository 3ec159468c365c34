import type { Scope } from "../../protocol/context.js";

/** Bounds the reads of the store that one owner has at once. */
export type ReadGate = <T>(scope: Scope, read: () => Promise<T>) => Promise<T>;

interface OwnerReads {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Lets each owner have `max` reads at once; further ones wait in their order. So the lists of one owner leave
 * connections, or the thread of the database, to others.
 */
export function createReadGate(max: number): ReadGate {
  const owners = new Map<string, OwnerReads>();

  const enter = (owner: string): Promise<void> | undefined => {
    const reads = owners.get(owner) ?? { running: 0, waiting: [] };
    owners.set(owner, reads);
    if (reads.running < max) {
      reads.running += 1;
      return undefined;
    }
    return new Promise((resolve) => reads.waiting.push(resolve));
  };

  // The place of a read that ends goes to the one that has waited longest.
  const leave = (owner: string): void => {
    const reads = owners.get(owner);
    if (reads === undefined) return;
    const next = reads.waiting.shift();
    if (next !== undefined) return next();
    reads.running -= 1;
    if (reads.running === 0) owners.delete(owner);
  };

  return async ({ tenant, owner }, read) => {
    const key = JSON.stringify([tenant, owner]);
    const turn = enter(key);
    if (turn !== undefined) await turn;
    try {
      return await read();
    } finally {
      leave(key);
    }
  };
}
