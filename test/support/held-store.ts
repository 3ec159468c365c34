import type { TaskStore } from "../../src/core/ports.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { settle, type VirtualClock } from "./virtual-clock.js";

/** A memory store whose batches of writes can be held back. */
export interface HeldStore {
  readonly store: TaskStore;
  /** Number of writes in each held batch, oldest first. */
  readonly waiting: readonly number[];
  /** Holds batches back from now on. */
  hold(): void;
  /** Releases the oldest batch and waits for its consequences; the others stay held. */
  land(): Promise<void>;
  /** Releases all batches, now and later. */
  release(): void;
}

export function heldStore(clock: VirtualClock): HeldStore {
  let holding = false;
  let flights: { readonly writes: number; readonly land: () => void }[] = [];
  const beforeFlush = (writes: number): Promise<void> | undefined =>
    holding ? new Promise((land) => flights.push({ writes, land })) : undefined;
  return {
    store: memoryTaskStore({ clock, beforeFlush }),
    get waiting() {
      return flights.map(({ writes }) => writes);
    },
    hold() {
      holding = true;
    },
    async land() {
      const flight = flights.shift();
      if (flight === undefined) throw new Error("no flight waits");
      flight.land();
      await settle();
    },
    release() {
      holding = false;
      for (const { land } of flights) land();
      flights = [];
    },
  };
}
