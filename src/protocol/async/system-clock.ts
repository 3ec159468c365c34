import { type Clock, longestTimerMs } from "./clock.js";

/** The machine's time for servers: its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    // A longer wait consists of several timers.
    let left = ms;
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const step = Math.min(left, longestTimerMs);
      left -= step;
      timer = setTimeout(left > 0 ? wait : run, step);
      timer.unref();
    };
    wait();
    return () => clearTimeout(timer);
  },
};
