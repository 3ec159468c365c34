import type { RateLimiterMemory } from "rate-limiter-flexible";
import type { Clock } from "../protocol/async/clock.js";
import type { Claim, Counters, Standing, Taken } from "./counters.js";
import type { WindowLimit } from "./limits.js";
import { type Period, periodOf, shiftOf } from "./rate.js";

type Limiters = typeof import("rate-limiter-flexible");

/** Loads the library, which a server without limits does without. */
export const loadLimiters = (): Promise<Limiters> => import("rate-limiter-flexible");

/** New callers of one limit in one window that are counted by themselves; further ones are counted together. */
const callersMax = 100_000;

interface Counted {
  readonly limiter: RateLimiterMemory;
  period: number;
  callers: number;
}

/** Counts in the memory of this process. */
export class LocalCounters implements Counters {
  readonly #limiters: Limiters;
  readonly #clock: Pick<Clock, "now">;
  readonly #counted = new Map<WindowLimit, Counted>();

  constructor(limiters: Limiters, clock: Pick<Clock, "now">) {
    this.#limiters = limiters;
    this.#clock = clock;
  }

  async take(claims: readonly Claim[]): Promise<Taken> {
    // All are counted before any is waited for, so that no other call comes between.
    const tried = await Promise.all(claims.map((claim) => this.#add(claim, claim.isUsed ? 0 : claim.amount)));
    const refused = tried.findIndex(({ left, over }, index) => over || (claims[index]?.isUsed === true && left === 0));
    const isRefused = refused >= 0;
    const standings = tried.map(({ over, ...standing }, index) => {
      const claim = claims[index];
      if (claim === undefined || claim.isUsed === isRefused) return standing;
      // What was used is counted now; what was taken is given back.
      const change = isRefused ? -claim.amount : claim.amount;
      void this.#add(claim, change);
      return { ...standing, left: over ? 0 : Math.max(0, standing.left - change) };
    });
    const undo = (): void => {
      if (!isRefused) for (const claim of claims) void this.#add(claim, -claim.amount);
    };
    return { refused: standings[refused], standings, undo };
  }

  charge(claims: readonly Claim[]): Promise<readonly Standing[]> {
    return Promise.all(claims.map((claim) => this.#add(claim, claim.amount)));
  }

  async #add({ limit, key }: Claim, amount: number): Promise<Standing & { readonly over: boolean }> {
    const period = periodOf(this.#clock.now(), limit.windowMs, shiftOf(key, limit.windowMs));
    const counted = this.#countedOf(limit, period);
    const known = counted.callers < callersMax ? key : "others";
    const { consumedPoints, isFirstInDuration } = await counted.limiter.penalty(`${period.number} ${known}`, amount);
    if (isFirstInDuration) counted.callers += 1;
    const left = Math.max(0, limit.limit - consumedPoints);
    return { limit, left, endsInMs: period.endsInMs, over: consumedPoints > limit.limit };
  }

  #countedOf(limit: WindowLimit, { number }: Period): Counted {
    let counted = this.#counted.get(limit);
    if (counted === undefined) {
      // A key belongs to one window, so that the clock of this process decides when it ends.
      const duration = limit.windowMs / 1000;
      const limiter = new this.#limiters.RateLimiterMemory({ points: limit.limit, duration, keyPrefix: "" });
      counted = { limiter, period: number, callers: 0 };
      this.#counted.set(limit, counted);
    }
    if (counted.period < number) Object.assign(counted, { period: number, callers: 0 });
    return counted;
  }
}
