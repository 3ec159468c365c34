import type { TaskStore } from "../../src/core/ports.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { settle, type VirtualClock } from "./virtual-clock.js";

/** A memory store whose flights of writes wait when told to. */
export interface HeldStore {
  readonly store: TaskStore;
  /** How many writes each flight carries that waits, the oldest first. */
  readonly waiting: readonly number[];
  /** From now on flights wait. */
  hold(): void;
  /** Lets the oldest flight land, and what it sets off happen; the others still wait. */
  land(): Promise<void>;
  /** Lets all land from now on. */
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
