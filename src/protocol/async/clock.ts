// Time and repetition: the clock that tests replace, pauses, retries, and streams made by hand.

/** The longest delay of a timer, in milliseconds: longer ones fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** Limits a duration to the longest delay of a timer, 25 days, which serves as never. */
export function timerMs(ms: number): number {
  return Math.min(ms, longestTimerMs);
}

/** Time, injected so that tests can control it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `run` once after `ms`; the returned function cancels it. */
  after(ms: number, run: () => void): () => void;
  /** Milliseconds since any fixed moment, by a clock that never jumps. Default: `now`. */
  monotonic?(): number;
}

/** The monotonic time of a clock in milliseconds. */
export function monotonic(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now();
}

/** The machine's time for callers: a waiting call keeps the process alive, as an active one does. */
export const callerClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, timerMs(ms));
    return () => clearTimeout(timer);
  },
};
