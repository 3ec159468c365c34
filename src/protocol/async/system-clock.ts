import { type Clock, longestTimerMs } from "./clock.js";

/** The machine's time for servers: its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    if (ms > longestTimerMs) return afterTimers(ms, run);
    const timer = setTimeout(run, ms);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** A longer wait consists of several timers. */
function afterTimers(ms: number, run: () => void): () => void {
  let remaining = ms;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const step = Math.min(remaining, longestTimerMs);
    remaining -= step;
    timer = setTimeout(remaining > 0 ? wait : run, step);
    timer.unref();
  };
  wait();
  return () => clearTimeout(timer);
}
