import type { Clock } from "./clock.js";
import { pause } from "./pause.js";

/** How pauses grow. */
export interface Backoff {
  /** The first pause, in milliseconds. */
  readonly firstMs: number;
  /** The longest pause in milliseconds. Default: no limit. */
  readonly maxMs?: number | undefined;
  /** Factor between pauses. Default: 2. */
  readonly factor?: number | undefined;
}

/** The pause in milliseconds before attempt `count + 1`. */
export function backoffMs(count: number, { firstMs, maxMs = Number.POSITIVE_INFINITY, factor = 2 }: Backoff): number {
  return Math.min(firstMs * factor ** (count - 1), maxMs);
}

export interface RetryPlan {
  readonly clock: Pick<Clock, "after">;
  /** The pause in milliseconds before the next attempt after this many failures. `undefined` throws the error. */
  pauseAfter(error: unknown, failures: number): number | undefined;
  /** The first signal that aborts ends a pause, and its reason is thrown. */
  readonly signals?: readonly (AbortSignal | undefined)[];
}

/** Repeats a function until it succeeds or the plan gives up. */
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

/** The same after a first failure. */
export function retryAfter<T>(first: unknown, run: () => Promise<T>, plan: RetryPlan): Promise<T> {
  let isFirst = true;
  const attempt = async (): Promise<T> => {
    if (!isFirst) return run();
    isFirst = false;
    throw first;
  };
  return retry(attempt, plan);
}
