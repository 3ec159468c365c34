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

/** The counts of one limit in the windows of one number. */
interface WindowCounts {
  readonly callers: Map<string, Count>;
  readonly groups: Map<number, Count>;
}

/** A claim, and the count of its caller in the window that is open. */
interface CountedClaim {
  readonly claim: Claim;
  readonly count: Count;
  readonly endsInMs: number;
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
    const refusedIndex = counted.findIndex(hasTooLittle);
    const isTaken = refusedIndex < 0;
    if (isTaken) addAll(counted, 1);
    const balances = counted.map(readBalance);
    return { refusal: balances[refusedIndex], balances, undo: isTaken ? () => addAll(counted, -1) : noop };
  }

  charge(claims: readonly Claim[]): readonly LimitBalance[] {
    const counted = this.#findCounts(claims);
    addAll(counted, 1);
    return counted.map(readBalance);
  }

  #findCounts(claims: readonly Claim[]): readonly CountedClaim[] {
    const now = this.#clock.now();
    const counted: CountedClaim[] = [];
    for (const claim of claims) {
      const { limit, key } = claim;
      const { number, endsInMs } = findPeriod(now, limit.windowMs, computeShift(key, limit.windowMs));
      counted.push({ claim, count: findCount(this.#findWindow(limit, number), key), endsInMs });
    }
    return counted;
  }

  #findWindow(limit: WindowLimit, number: number): WindowCounts {
    const windows = this.#windows.get(limit) ?? new Map<number, WindowCounts>();
    const existing = windows.get(number);
    if (existing !== undefined) return existing;
    // Windows of different callers begin at different times, so that two are open at once.
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

function hasTooLittle({ claim: { limit, amount, isUsed }, count: { used } }: CountedClaim): boolean {
  return isUsed ? used >= limit.limit : used + amount > limit.limit;
}

function addAll(counted: readonly CountedClaim[], sign: 1 | -1): void {
  for (const { claim, count } of counted) count.used += sign * claim.amount;
}

function readBalance({ claim: { limit }, count: { used }, endsInMs }: CountedClaim): LimitBalance {
  return { limit, left: Math.max(0, limit.limit - used), endsInMs };
}
