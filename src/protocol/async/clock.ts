/** Time, injected so that tests turn it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls once after `ms`; the returned function takes it back. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's time for callers: a call that waits keeps the process alive, as one that is under way does. */
export const callerClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
