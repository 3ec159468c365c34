import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { Clock } from "../protocol/async/clock.js";
import { grownPause, retry } from "../protocol/async/retry.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Operation } from "../protocol/operations.js";
import { mayPass } from "./failures.js";
import type { Attempt, OpenStream } from "./interface-client.js";
import { allowanceOf } from "./timing.js";

/** Number and pauses of the retries of a call. */
export interface RetryOptions {
  /** Attempts of one call, including the first; 1 disables retries. Default: 4. */
  readonly maxAttempts?: number | undefined;
  /** Upper bound of the first pause in milliseconds; it doubles with each further pause. Default: 200. */
  readonly firstPauseMs?: number | undefined;
  /** Upper bound of every pause that the agent does not set, in milliseconds. Default: 5,000. */
  readonly maxPauseMs?: number | undefined;
  /**
   * Longest pause that an agent may set, in milliseconds. With a longer one the call fails; the error's `retryAfterMs`
   * has it. Default: 60,000.
   */
  readonly maxRetryAfterMs?: number | undefined;
  /** Retry budget of all calls of the client; each successful call returns a tenth of a retry. Default: 20. */
  readonly budget?: number | undefined;
}

export interface Retries {
  /** The pause before attempt `attempt` (2 is the first retry), or `undefined` when there is none in the time left. */
  pauseBefore(attempt: number, error: unknown, leftMs: number): number | undefined;
  recordSuccess(): void;
}

/** Decides on retries: exponential backoff with full jitter, the agent's `Retry-After` where present, and a budget. */
export function createRetries(options: RetryOptions = {}, random: () => number = Math.random): Retries {
  const { maxAttempts = 4, firstPauseMs = 200, maxPauseMs = 5_000, maxRetryAfterMs = 60_000, budget = 20 } = options;
  let tokens = budget;
  return {
    pauseBefore(attempt, error, leftMs) {
      const retryAfterMs = (error instanceof A2AError ? error.retryAfterMs : undefined) ?? 0;
      if (attempt > maxAttempts || tokens < 1 || retryAfterMs > maxRetryAfterMs) return undefined;
      const pauseMs = retryAfterMs + random() * grownPause(attempt - 1, { firstMs: firstPauseMs, maxMs: maxPauseMs });
      if (pauseMs >= leftMs) return undefined;
      tokens--;
      return pauseMs;
    },
    recordSuccess() {
      tokens = Math.min(tokens + 0.1, budget);
    },
  };
}

export interface RetryingOptions {
  readonly retries: Retries;
  readonly clock: Clock;
  readonly isRepeatable: (operation: Operation, options: CallOptions) => boolean;
  /** Aborts when the client is closed: no retries from then on. */
  readonly closeSignal: AbortSignal;
}

/** Retries calls that may succeed a little later (design 7.4). The time limit of a call covers all its attempts. */
export function withRetries(next: Attempt, { retries, clock, isRepeatable, closeSignal }: RetryingOptions): Attempt {
  const run = async <T>(
    operation: Operation,
    options: CallOptions,
    leaveSignal: AbortSignal | undefined,
    call: (options: CallOptions) => Promise<T>,
  ): Promise<T> => {
    const allowance = allowanceOf(options, clock);
    const repeatable = isRepeatable(operation, options);
    const attempt = async (): Promise<T> => {
      closeSignal.throwIfAborted();
      const reply = await call(allowance.next());
      retries.recordSuccess();
      return reply;
    };
    const pauseAfter = (error: unknown, failures: number): number | undefined => {
      if (!mayPass(error, repeatable)) return undefined;
      closeSignal.throwIfAborted();
      return retries.pauseBefore(failures + 1, error, allowance.remainingMs());
    };
    return retry(attempt, { clock, pauseAfter, signals: [options.signal, leaveSignal, closeSignal] });
  };
  return {
    unary: (operation, request: AnyMessage, options) =>
      run(operation, options, undefined, (each) => next.unary(operation, request, each)),
    open: (operation, request: AnyMessage, options, leaveSignal): Promise<OpenStream> =>
      run(operation, options, leaveSignal, (each) => next.open(operation, request, each, leaveSignal)),
  };
}
