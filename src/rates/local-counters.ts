import type { Clock } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import type { Claim, ClaimOutcome, Counters, LimitBalance } from "./counters.js";
import type { WindowLimit } from "./limits.js";
import { computeGroup, computeShift, findPeriod } from "./rate.js";

// Counts in the memory of a process, which answer at once. The clock of this process decides when a window ends, and
// nothing is reset: each window has counts of its own. Beyond `callersMax` callers in a window, further ones are counted
// in groups: a flood of new names takes no more memory, and a caller that has a count of its own keeps it.

/** Callers of one limit in one window that are counted by themselves; further ones are counted in groups. */
const callersMax = 100_000;

/** What a caller or a group has used in a window. */
interface Count {
  used: number;
}

/** The counts of one limit in one window. */
interface WindowCounts {
  readonly callers: Map<string, Count>;
  readonly groups: Map<number, Count>;
}

/** A claim with the count of its caller in the open window, and what is left of it. */
interface CountedClaim extends Omit<Claim, "key">, LimitBalance {
  readonly count: Count;
  left: number;
}

/** Counts in the memory of this process. */
export class LocalCounters implements Counters {
  readonly #clock: Pick<Clock, "now">;
  readonly #windows = new Map<WindowLimit, Map<number, WindowCounts>>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  take(claims: readonly Claim[]): ClaimOutcome {
    const counted = this.#findCounts(claims);
    const refused = counted.find(hasTooLittle);
    if (refused !== undefined) {
      const { limit, left, endsInMs } = refused;
      return { refusal: { limit, left, endsInMs }, balances: counted, undo: noop };
    }
    addAll(counted);
    return { refusal: undefined, balances: counted, undo: () => subtractAll(counted) };
  }

  charge(claims: readonly Claim[]): readonly LimitBalance[] {
    const counted = this.#findCounts(claims);
    addAll(counted);
    return counted;
  }

  #findCounts(claims: readonly Claim[]): readonly CountedClaim[] {
    const now = this.#clock.now();
    const counted: CountedClaim[] = [];
    for (const { limit, key, amount, isUsed } of claims) {
      const { number, endsInMs } = findPeriod(now, limit.windowMs, computeShift(key, limit.windowMs));
      const count = findCount(this.#findWindow(limit, number), key);
      counted.push({ limit, amount, isUsed, count, endsInMs, left: Math.max(0, limit.limit - count.used) });
    }
    return counted;
  }

  #findWindow(limit: WindowLimit, number: number): WindowCounts {
    const windows = this.#windows.get(limit) ?? new Map<number, WindowCounts>();
    const existing = windows.get(number);
    if (existing !== undefined) return existing;
    // Windows of different callers begin at different times, so two windows may be open at the same time.
    for (const other of windows.keys()) if (Math.abs(other - number) > 1) windows.delete(other);
    const counts = { callers: new Map(), groups: new Map() };
    windows.set(number, counts);
    this.#windows.set(limit, windows);
    return counts;
  }
}

/** The count of a caller. A caller with a count of its own keeps it. */
function findCount({ callers, groups }: WindowCounts, key: string): Count {
  const own = callers.get(key);
  if (own !== undefined) return own;
  if (callers.size < callersMax) return addCount(callers, key);
  const group = computeGroup(key);
  return groups.get(group) ?? addCount(groups, group);
}

function addCount<K>(counts: Map<K, Count>, key: K): Count {
  const count = { used: 0 };
  counts.set(key, count);
  return count;
}

function hasTooLittle({ limit, amount, isUsed, count: { used } }: CountedClaim): boolean {
  return isUsed ? used >= limit.limit : used + amount > limit.limit;
}

function addAll(counted: readonly CountedClaim[]): void {
  for (const claim of counted) {
    claim.count.used += claim.amount;
    claim.left = Math.max(0, claim.limit.limit - claim.count.used);
  }
}

function subtractAll(counted: readonly CountedClaim[]): void {
  for (const { count, amount } of counted) count.used -= amount;
}
