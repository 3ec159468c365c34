import type { TaskStore } from "../../src/core/ports.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { settle, type VirtualClock } from "./virtual-clock.js";

/** A memory store that can hold back its batches of writes. */
export interface HeldStore {
  readonly store: TaskStore;
  /** Number of writes in each held batch, oldest first. */
  readonly heldCount: readonly number[];
  /** Holds batches back from now on. */
  hold(): void;
  /** Commits the oldest batch and waits for its effects; the others stay held. */
  releaseOldest(): Promise<void>;
  /** Releases all batches, now and later. */
  release(): void;
}

export function heldStore(clock: VirtualClock): HeldStore {
  let holding = false;
  let batches: { readonly writes: number; readonly resolve: () => void }[] = [];
  const beforeFlush = (writes: number): Promise<void> | undefined =>
    holding ? new Promise((resolve) => batches.push({ writes, resolve })) : undefined;
  return {
    store: memoryTaskStore({ clock, beforeFlush }),
    get heldCount() {
      return batches.map(({ writes }) => writes);
    },
    hold() {
      holding = true;
    },
    async releaseOldest() {
      const batch = batches.shift();
      if (batch === undefined) throw new Error("no batch is held");
      batch.resolve();
      await settle();
    },
    release() {
      holding = false;
      for (const { resolve: land } of batches) land();
      batches = [];
    },
  };
}
