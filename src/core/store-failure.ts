import { monotonic } from "../protocol/async/clock.js";
import { noop } from "../protocol/async/noop.js";
import { type Backoff, backoffMs, type RetryPlan } from "../protocol/async/retry.js";
import { sharedTimers } from "../protocol/async/timer-queue.js";
import { A2AError } from "../protocol/errors.js";
import { TurnAborted } from "./agent.js";
import type { CoreLimits } from "./limits.js";
import type { Clock } from "./ports.js";

// How a call of the store can fail, and what follows.
//
// | the call                      | its error          | took effect | then                                        |
// |-------------------------------|--------------------|-------------|---------------------------------------------|
// | was refused, such as for room | an `A2AError`      | no          | the caller gets it; it is not tried again   |
// | failed                        | any other          | unknown     | tried again; callers get `StoreUnavailable` |
// | has no answer in `storeWaitMs`| `Unanswered`       | unknown     | the same; `answer` says when it has ended   |
//
// `store-guard.ts` says who waits how long, `store-health.ts` what the process concludes.

/** The error for a caller whose task store did not answer. Whether a write took effect is unknown. */
export class StoreUnavailable extends A2AError {
  constructor(cause: unknown) {
    super("unavailable", "the task store does not answer, try again", { cause, retryAfterMs: 1000 });
  }
}

/** The error for a call that the store has not answered in time. A write may still take effect. */
export class Unanswered extends StoreUnavailable {
  /** Resolves when the call has ended. */
  readonly answer: Promise<void>;

  constructor(cause: unknown, answer: Promise<void>) {
    super(cause);
    this.answer = answer;
  }
}

/** True for an error with which the store answered, such as being full; false when it could not be reached. */
export function isStoreAnswer(error: unknown): error is A2AError {
  return error instanceof A2AError && !(error instanceof StoreUnavailable);
}

const storePauses: Backoff = { firstMs: 20, maxMs: 2000 };

/** Where store calls wait: the clock, and how long. */
export interface StoreTimes {
  readonly clock: Clock;
  readonly limits: Pick<CoreLimits, "storeRetryMs" | "storeWaitMs">;
}

/** The retry policy for failing store calls: until `ms` have passed, by default `storeRetryMs`. */
export function storeRetries({ clock, limits }: StoreTimes, ms = limits.storeRetryMs): RetryPlan {
  const until = monotonic(clock) + ms;
  // A short wait tries often enough to notice that the store is back.
  const pauses = { ...storePauses, maxMs: Math.min(2000, ms / 10) };
  return {
    clock,
    pauseAfter(error, failures) {
      const pauseMs = backoffMs(failures, pauses);
      // An answer, such as a full store, is not retried.
      return isStoreAnswer(error) || monotonic(clock) + pauseMs >= until ? undefined : pauseMs;
    },
  };
}

/**
 * Calls `late` after `storeWaitMs`, unless canceled. When the process itself was stopped meanwhile, answers that have
 * arrived come first. `isRare`: for calls that an idle process makes, too, which has no timer for others to share.
 */
export function storeDeadline({ clock, limits }: StoreTimes, late: () => void, isRare = false): () => void {
  let isOver = false;
  const run = (): void => {
    setImmediate(() => {
      if (!isOver) late();
    });
  };
  const { storeWaitMs } = limits;
  const cancel = isRare ? clock.after(storeWaitMs, run) : sharedTimers(clock, storeWaitMs).add(run);
  return () => {
    isOver = true;
    cancel();
  };
}

/** Waits for a call of the store, at most `storeWaitMs`. Then rejects with `Unanswered`. */
export async function waitForStore<T>(times: StoreTimes, call: Promise<T>): Promise<T> {
  let cancel = noop;
  const late = new Promise<never>((_, reject) => {
    const fail = (): void => reject(new Unanswered(new NoAnswer(times.limits.storeWaitMs), call.then(noop, noop)));
    cancel = storeDeadline(times, fail);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    cancel();
  }
}

/** The store has not answered a call in time. */
export class NoAnswer extends Error {
  constructor(ms: number) {
    super(`the task store gave no answer within ${ms} ms (limit \`storeWaitMs\`)`);
  }
}

/** The error of a failed write that its caller gets. */
export function maskStoreFailure(error: unknown): unknown {
  return error instanceof A2AError || error instanceof TurnAborted ? error : new StoreUnavailable(error);
}
