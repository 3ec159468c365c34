import type { RateLimiterMemory } from "rate-limiter-flexible";
import type { Clock } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import { loadPackage } from "../protocol/load-package.js";
import type { Claim, ClaimOutcome, Counters, LimitBalance } from "./counters.js";
import type { WindowLimit } from "./limits.js";
import { computeGroup, computeShift, findPeriod } from "./rate.js";

// Counts in the memory of a process. Each limit has a limiter of the library, whose keys are the caller's name and the
// number of its window: so the clock of this process decides when a window ends, and nothing is reset. Beyond `callersMax`
// callers in a window, further ones are counted in groups: a flood of new names takes no more memory, and a caller that has a
// count of its own keeps it.

type Limiters = typeof import("rate-limiter-flexible");

/** Loads the library with the first limit. */
export const loadLimiters = (): Promise<Limiters> =>
  loadPackage("rate-limiter-flexible", () => import("rate-limiter-flexible"));

/** Callers of one limit in one window that are counted by themselves; further ones are counted in groups. */
const callersMax = 100_000;

interface CallerCounter {
  readonly limiter: RateLimiterMemory;
  /** The callers that are counted by themselves, by the number of their window. */
  readonly callers: Map<number, Set<string>>;
}

/** Counts in the memory of this process. */
export class LocalCounters implements Counters {
  readonly #limiters: Limiters;
  readonly #clock: Pick<Clock, "now">;
  readonly #callerCounters = new Map<WindowLimit, CallerCounter>();

  constructor(limiters: Limiters, clock: Pick<Clock, "now">) {
    this.#limiters = limiters;
    this.#clock = clock;
  }

  async take(claims: readonly Claim[]): Promise<ClaimOutcome> {
    // Counts all before the first `await`, so that no other call comes between.
    const balances = await this.#addAll(claims, 1);
    const refusedIndex = claims.findIndex(({ limit, amount, isUsed }, index) => {
      const used = balances[index]?.used ?? 0;
      return isUsed ? used - amount >= limit.limit : used > limit.limit;
    });
    if (refusedIndex < 0) return { refusal: undefined, balances, undo: () => this.#undo(claims) };
    this.#undo(claims);
    const balancesBefore = balances.map((balance, index) => {
      const { limit, endsInMs, used } = balance;
      const before = used - (claims[index]?.amount ?? 0);
      return { limit, endsInMs, left: index === refusedIndex ? 0 : Math.max(0, limit.limit - before) };
    });
    return { refusal: balancesBefore[refusedIndex], balances: balancesBefore, undo: noop };
  }

  charge(claims: readonly Claim[]): Promise<readonly LimitBalance[]> {
    return this.#addAll(claims, 1);
  }

  #undo(claims: readonly Claim[]): void {
    void this.#addAll(claims, -1);
  }

  #addAll(claims: readonly Claim[], sign: 1 | -1): Promise<(LimitBalance & { readonly used: number })[]> {
    const now = this.#clock.now();
    return Promise.all(
      claims.map(({ limit, key, amount }) => {
        const { number, endsInMs } = findPeriod(now, limit.windowMs, computeShift(key, limit.windowMs));
        const { limiter, callers } = this.#findCounter(limit);
        return limiter.penalty(`${number} ${nameIn(callers, number, key)}`, sign * amount).then((counts) => {
          const used = counts.consumedPoints;
          return { limit, used, left: Math.max(0, limit.limit - used), endsInMs };
        });
      }),
    );
  }

  #findCounter(limit: WindowLimit): CallerCounter {
    let counter = this.#callerCounters.get(limit);
    if (counter === undefined) {
      // A key belongs to one window, so that the clock of this process decides when it ends.
      const duration = limit.windowMs / 1000;
      const limiter = new this.#limiters.RateLimiterMemory({ points: limit.limit, duration, keyPrefix: "" });
      counter = { limiter, callers: new Map() };
      this.#callerCounters.set(limit, counter);
    }
    return counter;
  }
}

/** The name under which a window counts a caller. A caller with a count of its own keeps it. */
function nameIn(callers: CallerCounter["callers"], number: number, key: string): string {
  let names = callers.get(number);
  if (names === undefined) {
    // Windows of different callers begin at different times, so that two are open at once.
    for (const other of callers.keys()) if (Math.abs(other - number) > 1) callers.delete(other);
    names = new Set();
    callers.set(number, names);
  }
  if (names.size < callersMax) names.add(key);
  return names.has(key) ? `caller ${key}` : `others ${computeGroup(key)}`;
}
