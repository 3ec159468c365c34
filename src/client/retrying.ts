import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { Clock } from "../protocol/async/clock.js";
import { backoffMs, retry } from "../protocol/async/retry.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Operation } from "../protocol/operations.js";
import type { AgentAccess } from "./agent-access.js";
import { isRetryable, isUnavailable, isUnreachable } from "./failures.js";
import type { Attempt, OpenStream } from "./interface-client.js";
import { startAllowance } from "./timing.js";

// How long and how often a call is retried; `failures.ts` says whether. Each failure asks for the next pause, and without
// one the call fails with its error:
//
// - Pauses grow with full jitter, on top of what the agent asks for. None goes beyond the time of the call.
// - A call makes at most `maxAttempts`. While nothing was sent, it and the search for the card are retried beyond that for up
//   to `unsentMs`, so that an agent can restart. A stream that resumes counts its breaks instead.
// - All calls of a client share one budget, so that retries do not multiply the load on an agent that fails.

/** Number of retries, and pauses between them. */
export interface RetryOptions {
  /** Attempts of one call, including the first; 1 disables retries. Default: 4. */
  readonly maxAttempts?: number | undefined;
  /**
   * How long a call of which nothing was sent, and the search for the card, are retried beyond `maxAttempts`, so that
   * an agent can restart. In milliseconds from the first failure; 0: `maxAttempts` applies. Default: 8,000.
   */
  readonly unsentMs?: number | undefined;
  /** Upper bound of the first pause in milliseconds; it doubles with each further pause. Default: 200. */
  readonly firstPauseMs?: number | undefined;
  /** Upper bound of every pause that the agent does not set, in milliseconds. Default: 5,000. */
  readonly maxPauseMs?: number | undefined;
  /**
   * Longest pause that an agent may request, in milliseconds. If it requests a longer one, the call fails, and the
   * error's `retryAfterMs` has the pause. Default: 60,000.
   */
  readonly maxRetryAfterMs?: number | undefined;
  /** Retry budget of all calls of the client; each successful call returns a tenth of a retry. Default: 20. */
  readonly budget?: number | undefined;
}

/** A retry that follows after a pause. */
export interface RetryNotice {
  /** The error of the last attempt. */
  readonly error: unknown;
  /** Time since the first failure in milliseconds. */
  readonly failingMs: number;
  /** The pause before the retry in milliseconds. */
  readonly pauseMs: number;
}

export interface Retries {
  /**
   * The pause before attempt `attempt` (2 is the first retry), or `undefined` when there is none in the time left.
   * `failingMs` is the time since the first failure, for a call that waits for an agent that restarts.
   */
  pauseBefore(attempt: number, error: unknown, leftMs: number, failingMs?: number): number | undefined;
  recordSuccess(): void;
}

/** Finds the pauses between retries: exponential backoff with full jitter, the agent's `Retry-After` where present, and a budget. */
export function createRetries(options: RetryOptions = {}, random: () => number = Math.random): Retries {
  const { maxAttempts = 4, firstPauseMs = 200, maxPauseMs = 5_000, maxRetryAfterMs = 60_000, budget = 20 } = options;
  const unsentMs = maxAttempts > 1 ? (options.unsentMs ?? 8_000) : 0;
  let tokens = budget;
  return {
    pauseBefore(attempt, error, leftMs, failingMs) {
      const retryAfterMs = (error instanceof A2AError ? error.retryAfterMs : undefined) ?? 0;
      // The last attempt is made when the wait is over.
      const endMs = failingMs === undefined ? 0 : unsentMs - failingMs;
      const waitMs = attempt > maxAttempts ? endMs : Number.POSITIVE_INFINITY;
      if (waitMs <= retryAfterMs || tokens < 1 || retryAfterMs > maxRetryAfterMs) return undefined;
      const growingMs = random() * backoffMs(attempt - 1, { firstMs: firstPauseMs, maxMs: maxPauseMs });
      const pauseMs = Math.min(retryAfterMs + growingMs, waitMs);
      if (pauseMs >= leftMs) return undefined;
      tokens--;
      return pauseMs;
    },
    recordSuccess() {
      tokens = Math.min(tokens + 0.1, budget);
    },
  };
}

/** Parts that all retries of a client share. */
export interface RetryParts {
  readonly retries: Retries;
  readonly clock: Clock;
  readonly onRetry: ((notice: RetryNotice) => void) | undefined;
}

/**
 * Finds the pauses of one call or search, and announces them. `waits` says whether the agent may be restarting, which
 * takes longer than other failures that pass.
 */
function pauseFinder({ retries, clock, onRetry }: RetryParts, leftMs: () => number) {
  let failingSince: number | undefined;
  return (error: unknown, failures: number, waits: boolean): number | undefined => {
    failingSince ??= clock.now();
    const failingMs = clock.now() - failingSince;
    const pauseMs = retries.pauseBefore(failures + 1, error, leftMs(), waits ? failingMs : undefined);
    if (pauseMs !== undefined) onRetry?.({ error, failingMs, pauseMs });
    // Changed in place: its class and members stay those of the last failure.
    else if (waits && failures > 1 && error instanceof Error)
      error.message += ` (tried for ${Math.round(failingMs / 100) / 10} s)`;
    return pauseMs;
  };
}

/** Searches for a card until its server is back. `search` is told how much of `timeoutMs` is left. */
export function retrySearch<T>(
  search: (leftMs: number) => Promise<T>,
  {
    timeoutMs,
    signal,
    ...parts
  }: RetryParts & { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<T> {
  const { clock } = parts;
  const until = clock.now() + timeoutMs;
  const leftMs = (): number => until - clock.now();
  const findPause = pauseFinder(parts, leftMs);
  const pauseAfter = (error: unknown, failures: number): number | undefined =>
    isUnavailable(error) ? findPause(error, failures, true) : undefined;
  return retry(() => search(leftMs()), { clock, pauseAfter, signals: [signal] });
}

export interface RetryingOptions extends RetryParts {
  /** Aborts when the client is closed: no retries from then on. */
  readonly closeSignal: AbortSignal;
  /** Whether calls of which nothing was sent wait for an agent that restarts. A stream that resumes counts its breaks instead. */
  readonly waits: boolean;
}

/** Retries calls that may succeed a little later. The time limit of a call covers all its attempts. */
export function withRetries(access: AgentAccess, options: RetryingOptions): Attempt {
  const { retries, clock, closeSignal, waits } = options;
  const run = async <T>(
    operation: Operation,
    callOptions: CallOptions,
    leaveSignal: AbortSignal | undefined,
    call: (options: CallOptions) => Promise<T>,
  ): Promise<T> => {
    const allowance = startAllowance(callOptions, clock);
    const repeatable = access.isRepeatable(operation, callOptions);
    const attempt = async (): Promise<T> => {
      closeSignal.throwIfAborted();
      const reply = await call(allowance.next());
      retries.recordSuccess();
      return reply;
    };
    let findPause: ReturnType<typeof pauseFinder> | undefined;
    const pauseAfter = (error: unknown, failures: number): number | undefined => {
      if (!isRetryable(error, repeatable)) return undefined;
      closeSignal.throwIfAborted();
      findPause ??= pauseFinder(options, allowance.remainingMs);
      return findPause(error, failures, waits && isUnreachable(error));
    };
    return retry(attempt, { clock, pauseAfter, signals: [callOptions.signal, leaveSignal, closeSignal] });
  };
  return {
    unary: (operation, request: AnyMessage, callOptions) =>
      run(operation, callOptions, undefined, (each) => access.unary(operation, request, each)),
    open: (operation, request: AnyMessage, callOptions, leaveSignal): Promise<OpenStream> =>
      run(operation, callOptions, leaveSignal, (each) => access.open(operation, request, each, leaveSignal)),
  };
}
