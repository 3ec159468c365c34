import type { CoreLimits } from "./limits.js";
import type { Clock, TaskStore } from "./ports.js";

/** What makes a process the holder of its tasks: its row in the store, which expires unless it is renewed. */
export interface Lease {
  /** `undefined` while the row is good, else a promise of its renewal. Asked before a task is taken on. */
  hold(): Promise<void> | undefined;
  renew(): Promise<void>;
}

export interface LeaseOptions {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly limits: CoreLimits;
  readonly instance: string;
}

export function createLease({ store, clock, limits, instance }: LeaseOptions): Lease {
  let goodUntil = Number.NEGATIVE_INFINITY;
  const renew = async (): Promise<void> => {
    // Counted from before the call: the store counts from later.
    const until = clock.now() + limits.instanceTtlMs;
    await store.renew(instance, limits.instanceTtlMs);
    goodUntil = until;
  };
  return { renew, hold: () => (clock.now() < goodUntil ? undefined : renew()) };
}
