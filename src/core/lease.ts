import type { CoreLimits } from "./limits.js";
import type { Clock, TaskStore } from "./ports.js";

/** What makes a process the holder of its tasks: a row in the store that expires unless it is renewed. */
export interface Lease {
  /** `undefined` while the lease is valid, else a promise of its renewal. Checked before a task is claimed. */
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
    // Measured from before the call, since the store counts from a later moment.
    const until = clock.now() + limits.instanceTtlMs;
    await store.renew(instance, limits.instanceTtlMs);
    goodUntil = until;
  };
  return { renew, hold: () => (clock.now() < goodUntil ? undefined : renew()) };
}
