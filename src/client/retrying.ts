import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Operation } from "../protocol/operations.js";
import { mayPass } from "./failures.js";
import type { Attempt, OpenStream } from "./interface-client.js";
import { allowanceOf, type ClientClock, pause } from "./timing.js";

/** How often, and how soon, a call is tried again. */
export interface RetryOptions {
  /** Tries of one call, the first included; 1 turns retries off. Default: 4. */
  readonly maxAttempts?: number | undefined;
  /** Upper bound of the first pause in milliseconds; each further one doubles it. Default: 200. */
  readonly firstPauseMs?: number | undefined;
  /** Upper bound of every pause that the agent does not name itself. Default: 5,000. */
  readonly maxPauseMs?: number | undefined;
  /** Retries that all calls of the client may use up in a row; each call that gets through gives back a tenth of one. Default: 20. */
  readonly budget?: number | undefined;
}

export interface Retries {
  /** The pause before try `attempt` (2 is the first retry), or `undefined` when there shall be none. */
  pauseBefore(attempt: number, error: unknown): number | undefined;
  succeeded(): void;
}

/** Decides on retries: exponential pauses with full jitter, `Retry-After` where the agent names one, and a budget. */
export function createRetries(options: RetryOptions = {}, random: () => number = Math.random): Retries {
  const { maxAttempts = 4, firstPauseMs = 200, maxPauseMs = 5_000, budget = 20 } = options;
  let tokens = budget;
  return {
    pauseBefore(attempt, error) {
      if (attempt > maxAttempts || tokens < 1) return undefined;
      tokens--;
      const named = error instanceof A2AError ? error.retryAfterMs : undefined;
      const bound = Math.min(firstPauseMs * 2 ** (attempt - 2), maxPauseMs);
      return (named ?? 0) + bound * random();
    },
    succeeded() {
      tokens = Math.min(tokens + 0.1, budget);
    },
  };
}

export interface RetryingOptions {
  readonly retries: Retries;
  readonly clock: ClientClock;
  readonly isRepeatable: (operation: Operation) => boolean;
}

/** Tries calls again that may get through a little later (design 7.4). The time limit of a call is for all of its tries. */
export function withRetries(next: Attempt, { retries, clock, isRepeatable }: RetryingOptions): Attempt {
  const run = async <T>(
    operation: Operation,
    options: CallOptions,
    left: AbortSignal | undefined,
    call: (options: CallOptions) => Promise<T>,
  ): Promise<T> => {
    const allowance = allowanceOf(options, clock);
    const repeatable = isRepeatable(operation);
    for (let attempt = 2; ; attempt++) {
      try {
        const reply = await call(allowance.next());
        retries.succeeded();
        return reply;
      } catch (error) {
        const pauseMs = mayPass(error, repeatable) ? retries.pauseBefore(attempt, error) : undefined;
        if (pauseMs === undefined || !allowance.has(pauseMs)) throw error;
        await pause(clock, pauseMs, [options.signal, left]);
      }
    }
  };
  return {
    unary: (operation, request: AnyMessage, options) =>
      run(operation, options, undefined, (each) => next.unary(operation, request, each)),
    open: (operation, request: AnyMessage, options, left): Promise<OpenStream> =>
      run(operation, options, left, (each) => next.open(operation, request, each, left)),
  };
}
