import { monotonic } from "../protocol/async/clock.js";
import type { CoreLimits } from "./limits.js";
import type { Clock, TaskStore } from "./ports.js";

// A renewal shows two things: that this process holds its tasks, and whether the others could renew.
//
//   in time                               ──▶ valid for `instanceTtlMs`, counted from before the call
//   the first one                         ──▶ valid; nothing is taken over for a heartbeat
//   late, or the store's clock has moved  ──▶ valid; nothing is taken over for `instanceTtlMs`, and tasks that others have
//                                             taken over meanwhile are given up (`checkHeld`)
//   none                                  ──▶ not valid: nothing is claimed or shown from memory before the next one
//
// Each process has two clocks, because the steady one may stand still while the machine sleeps and the other may be set.

/**
 * The lease of a process on its tasks: a row in the store that expires unless it is renewed. An expired lease means a
 * dead process only while all processes can renew. After an outage of the store, or a change of its clock, others may
 * be late and alive: this process takes nothing over until they had time to renew.
 */
export interface Lease {
  /** False from the moment at which the lease may have expired, by this process's own clocks. */
  readonly valid: boolean;
  /** How long it has been invalid for want of a renewal, in milliseconds by the monotonic clock. */
  readonly lapsedMs: number;
  /** Renews the lease unless it is valid: then `undefined`. Called before a task is claimed. */
  renewIfLapsed(): Promise<void> | undefined;
  renew(): Promise<void>;
  /**
   * The time of the store in milliseconds since the epoch, as far as the last renewal shows: that of this process unless
   * its clock differs.
   */
  storeTime(): number;
  /** Whether the holder of a lease that was just seen as expired is gone. Renews this lease to find out. */
  trustsExpiry(): Promise<boolean>;
}

export interface LeaseOptions {
  readonly store: Pick<TaskStore, "renew">;
  readonly clock: Clock;
  readonly limits: Pick<CoreLimits, "heartbeatMs" | "instanceTtlMs">;
  readonly instance: string;
  /** Gives up the tasks that others took over while this process could not renew. */
  readonly checkHeld: () => Promise<void>;
}

/** A moment by the clocks of this process. */
interface Moment {
  readonly wall: number;
  readonly steady: number;
}

/** A renewal: when it began and was answered, and the store's time in between. */
interface Renewal {
  readonly startedAt: Moment;
  readonly answeredAt: Moment;
  readonly storeTime: number;
}

/** Clocks that differ by less show the same time. */
const sameMs = 50;

export function createLease({ store, clock, limits, instance, checkHeld }: LeaseOptions): Lease {
  const { heartbeatMs, instanceTtlMs } = limits;
  let last: Renewal | undefined;
  /** Nothing is taken over before this time of the steady clock. */
  let takeOverFrom = Number.POSITIVE_INFINITY;
  const now = (): Moment => ({ wall: clock.now(), steady: monotonic(clock) });
  // Counted from before the renewal, since the store counts from a later moment.
  const heldMs = (): number => (last === undefined ? Number.POSITIVE_INFINITY : elapsedMs(last.startedAt, now()));
  // Others may have renewed a heartbeat before this process did, and be kept from it by the same cause.
  const lateMs = Math.max(instanceTtlMs - 2 * heartbeatMs, instanceTtlMs / 2);
  let wasLate = false;
  // Where every renewal is slow, only the first one counts as late, or this process would never take anything over.
  const isDisturbed = (before: Renewal, next: Renewal): boolean => {
    const gapMs = elapsedMs(before.startedAt, next.answeredAt);
    const isLate = gapMs >= lateMs && (!wasLate || gapMs >= instanceTtlMs);
    wasLate = gapMs >= lateMs;
    return isLate || drift(before, next) > (instanceTtlMs - heartbeatMs) / 2;
  };

  const renew = async (): Promise<void> => {
    const startedAt = now();
    const storeTime = await store.renew(instance, instanceTtlMs);
    const next: Renewal = { startedAt, answeredAt: now(), storeTime };
    if (last === undefined) {
      // After an outage all others may be about to renew.
      takeOverFrom = next.answeredAt.steady + heartbeatMs;
    } else if (isDisturbed(last, next)) {
      takeOverFrom = next.answeredAt.steady + instanceTtlMs;
      await checkHeld();
    }
    if (last === undefined || startedAt.steady >= last.startedAt.steady) last = next;
  };

  return {
    get valid() {
      return heldMs() < instanceTtlMs;
    },
    get lapsedMs() {
      return last === undefined ? 0 : Math.max(0, monotonic(clock) - last.startedAt.steady - instanceTtlMs);
    },
    renew,
    renewIfLapsed: () => (heldMs() < instanceTtlMs ? undefined : renew()),
    storeTime() {
      const own = clock.now();
      if (last === undefined) return own;
      const { startedAt, answeredAt, storeTime } = last;
      const roundTrip = answeredAt.steady - startedAt.steady;
      const estimate = storeTime + monotonic(clock) - startedAt.steady - roundTrip / 2;
      return Math.abs(own - estimate) > roundTrip / 2 + sameMs ? Math.round(estimate) : own;
    },
    async trustsExpiry() {
      if (last !== undefined && monotonic(clock) < takeOverFrom) return false;
      // The store's clock may have been set since the last one.
      await renew();
      return monotonic(clock) >= takeOverFrom;
    },
  };
}

// The steady clock may stand still while the machine sleeps, and the other one may be set.
function elapsedMs(from: Moment, to: Moment): number {
  return Math.max(to.steady - from.steady, to.wall - from.wall);
}

// How far the store's clock has moved away from this process's between two renewals, at least.
function drift(before: Renewal, after: Renewal): number {
  const storeMs = after.storeTime - before.storeTime;
  const least = after.startedAt.steady - before.answeredAt.steady;
  const most = after.answeredAt.steady - before.startedAt.steady;
  return Math.max(least - storeMs, storeMs - most, 0);
}
