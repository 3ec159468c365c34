import type { CallOptions } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";

/** The time that a client goes by. */
export interface ClientClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs something after a while; the function that it gives cancels that. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's time. A call that waits keeps the process alive, as one that is under way does. */
export const machineClock: ClientClock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits, unless one of the signals aborts: then it rejects with the reason. */
export function pause(clock: ClientClock, ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      cancel();
      for (const signal of signals) signal?.removeEventListener("abort", give);
    };
    const give = (): void => {
      stop();
      reject(signals.find((signal) => signal?.aborted === true)?.reason);
    };
    const cancel = clock.after(ms, () => {
      stop();
      resolve();
    });
    for (const signal of signals) signal?.addEventListener("abort", give, { once: true });
    if (signals.some((signal) => signal?.aborted === true)) give();
  });
}

/** The time of one call, over all of its attempts. */
export interface Allowance {
  /** Options for the next attempt, with the time that is left. Throws `deadlineExceeded` when none is. */
  next(): CallOptions;
  /** Milliseconds that are left; infinitely many without a limit. */
  left(): number;
}

// Timers take no more.
const longestMs = 2 ** 31 - 1;

/** Starts the clock of a call. Throws a `TypeError` for a limit that is no number of milliseconds. */
export function allowanceOf(options: CallOptions, clock: ClientClock): Allowance {
  const { timeoutMs } = options;
  if (timeoutMs === undefined) return { next: () => options, left: () => Number.POSITIVE_INFINITY };
  if (!(timeoutMs >= 0)) throw new TypeError(`timeoutMs must be a number of milliseconds from 0 on, not ${timeoutMs}`);
  const until = clock.now() + timeoutMs;
  const left = (): number => until - clock.now();
  return {
    left,
    next() {
      const leftMs = Math.ceil(left());
      if (leftMs <= 0) throw new A2AError("deadlineExceeded", `no answer within ${timeoutMs} ms`);
      return { ...options, timeoutMs: Math.min(leftMs, longestMs) };
    },
  };
}
