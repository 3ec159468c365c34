import { type Clock, longestTimerMs } from "../protocol/async/clock.js";
import { backoffMs } from "../protocol/async/retry.js";
import type { CallOptions } from "../protocol/context.js";
import { A2AError, ConnectionError } from "../protocol/errors.js";
import type { TaskState } from "../protocol/model.js";
import { stateName } from "../protocol/states.js";

/** The time of one call over all its attempts. */
export interface Allowance {
  /** Options for the next attempt with the remaining time. Throws `deadlineExceeded` when none is left. */
  next(): CallOptions;
  /** Remaining milliseconds; infinite without a limit. */
  remainingMs(): number;
}

/** Starts the time of a call. Throws a `TypeError` for a limit that is not a number of milliseconds. */
export function startAllowance(options: CallOptions, clock: Clock): Allowance {
  const { timeoutMs } = options;
  if (timeoutMs === undefined) return { next: () => options, remainingMs: () => Number.POSITIVE_INFINITY };
  if (!(timeoutMs >= 0)) throw new TypeError(`timeoutMs must be 0 or more milliseconds, not ${timeoutMs}`);
  const until = clock.now() + timeoutMs;
  const remainingMs = (): number => until - clock.now();
  return {
    remainingMs,
    next() {
      const leftMs = Math.ceil(remainingMs());
      if (leftMs <= 0) throw new A2AError("deadlineExceeded", `no answer within ${timeoutMs} ms`);
      return { ...options, timeoutMs: Math.min(leftMs, longestTimerMs) };
    },
  };
}

/**
 * The error of a wait that exceeds its time: once the agent has named a task, its metadata has `taskId` and `state`.
 * Any other error is returned as it is.
 */
export function toTimeoutError(
  error: unknown,
  { taskId, state }: { readonly taskId: string; readonly state: TaskState },
  { timeoutMs }: CallOptions,
): unknown {
  if (!(error instanceof A2AError) || error.code !== "deadlineExceeded" || taskId === "") return error;
  const name = stateName(state);
  const progress = `the last state of task ${taskId} is ${name}, continue with client.wait("${taskId}")`;
  return new A2AError(
    "deadlineExceeded",
    timeoutMs === undefined
      ? `${error.message}: ${progress}`
      : `the answer was not complete within ${timeoutMs} ms: ${progress}`,
    { metadata: { ...error.metadata, taskId, state: name }, cause: error },
  );
}

/** The pause before a task is polled again. */
export function pollPause(polls: number, pollMs: number): number {
  return backoffMs(polls, { firstMs: pollMs, maxMs: pollMs * 10, factor: 1.5 });
}

/** Makes a call with only a part of its time. A timeout then does not mean that the call's own deadline has passed. */
export async function callWithin<T>(
  allowance: Allowance,
  limitMs: number,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const options = allowance.next();
  const timeoutMs = Math.ceil(Math.min(options.timeoutMs ?? limitMs, limitMs));
  try {
    return await call({ ...options, timeoutMs });
  } catch (error) {
    const isLate = error instanceof A2AError && error.code === "deadlineExceeded" && allowance.remainingMs() > 0;
    throw isLate ? new ConnectionError(`no answer within ${timeoutMs} ms`, { written: true, cause: error }) : error;
  }
}
