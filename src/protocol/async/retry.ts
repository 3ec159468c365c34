import type { Clock } from "./clock.js";
import { pause } from "./pause.js";

/** How pauses grow. */
export interface Growth {
  /** The first pause, in milliseconds. */
  readonly firstMs: number;
  /** The longest. Default: they grow on. */
  readonly maxMs?: number | undefined;
  /** How many times as long the next one is. Default: 2. */
  readonly factor?: number | undefined;
}

/** The pause before try `count + 1`, in milliseconds. */
export function grownPause(count: number, { firstMs, maxMs = Number.POSITIVE_INFINITY, factor = 2 }: Growth): number {
  return Math.min(firstMs * factor ** (count - 1), maxMs);
}

export interface RetryPlan {
  readonly clock: Pick<Clock, "after">;
  /** The pause before the next try, in milliseconds, after so many failures. `undefined`: the error is thrown. */
  pauseAfter(error: unknown, failures: number): number | undefined;
  /** Any of them ends a pause: then its reason is thrown. */
  readonly signals?: readonly (AbortSignal | undefined)[];
}

/** Tries something until it succeeds, or the plan gives it up. */
export async function retry<T>(run: () => Promise<T>, { clock, pauseAfter, signals = [] }: RetryPlan): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await run();
    } catch (error) {
      const pauseMs = pauseAfter(error, failures);
      if (pauseMs === undefined) throw error;
      await pause(clock, pauseMs, ...signals);
    }
  }
}

/** The same for what has failed once. */
export function retryAfter<T>(first: unknown, run: () => Promise<T>, plan: RetryPlan): Promise<T> {
  let isFirst = true;
  const attempt = async (): Promise<T> => {
    if (!isFirst) return run();
    isFirst = false;
    throw first;
  };
  return retry(attempt, plan);
}
