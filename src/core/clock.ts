import type { Clock } from "./ports.js";

// Node fires a longer timer at once, so a longer wait is made of several.
const longestTimerMs = 2 ** 31 - 1;

/** The machine's time. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
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

/** Waits for something, at most `ms`. */
export async function within(clock: Clock, ms: number, wait: Promise<void>): Promise<void> {
  let cancel = (): void => {};
  const late = new Promise<void>((resolve) => {
    cancel = clock.after(ms, resolve);
  });
  await Promise.race([wait, late]);
  cancel();
}
