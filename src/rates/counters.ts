import type { WindowLimit } from "./limits.js";

// What counts the use of limits. `local-counters.ts` counts in the memory of the process. `shared-counters.ts` counts
// for all processes on a store that has `rates` (PostgreSQL). `layered-counters.ts` joins the counts of a server and of
// one of its agents. `server/rate-limiter.ts` picks.

/** A use of a limit by one caller. */
export interface Claim {
  readonly limit: WindowLimit;
  /** The caller, and the limit, in one string. */
  readonly key: string;
  readonly amount: number;
  /** Whether the amount was used already: then it is refused only when nothing is left. */
  readonly isUsed: boolean;
}

/** The balance of a caller's limit. */
export interface LimitBalance {
  readonly limit: WindowLimit;
  readonly left: number;
  readonly endsInMs: number;
}

/** The outcome of claims. */
export interface ClaimOutcome {
  /** The first limit that has too little left; then nothing was taken. */
  readonly refusal: LimitBalance | undefined;
  readonly balances: readonly LimitBalance[];
  /** Gives back what was taken. */
  undo(): void;
}

/** Counts what callers use of their limits. Returns a promise only where the answer takes time. */
export interface Counters {
  /** Takes all claims or none. */
  take(claims: readonly Claim[]): ClaimOutcome | Promise<ClaimOutcome>;
  /** Counts what was used, even if less is left. */
  charge(claims: readonly Claim[]): readonly LimitBalance[] | Promise<readonly LimitBalance[]>;
}
