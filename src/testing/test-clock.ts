import { setImmediate } from "node:timers/promises";
import type { Clock } from "../core/ports.js";

interface Timer {
  readonly due: number;
  readonly run: () => void;
}

/** A clock that stands still until it is turned. */
export interface TestClock extends Clock {
  /**
   * Turns it on by `ms`. Timers that come due run in their order, each at its time, and what one sets off settles before
   * the next.
   */
  advance(ms: number): Promise<void>;
  /** When timers are due, the soonest first. */
  pending(): readonly number[];
}

export interface TestClockOptions {
  /** Milliseconds since 1970. Default: the beginning of 2026. */
  readonly start?: number | undefined;
  /** Resolves when nothing runs that waits for no timer. Default: `settle`. */
  readonly settled?: (() => Promise<void>) | undefined;
}

// Work that leaves the microtask queue once or twice, to let others in, counts as set off by the timer.
const settleRounds = 3;

/** Lets everything run that waits for no timer. What waits for a socket or a file is not heard of. */
export async function settle(): Promise<void> {
  for (let round = 0; round < settleRounds; round += 1) await setImmediate();
}

/** Turns a clock on, second by second, until something is done. */
export async function turnUntil(clock: TestClock, done: Promise<void>): Promise<void> {
  let over = false;
  const end = done.finally(() => {
    over = true;
  });
  while (!over) await clock.advance(1000);
  await end;
}

/** Makes a clock for tests: give it to an agent, a client or a store in place of the machine's. */
export function createTestClock({ start = Date.UTC(2026, 0, 1), settled = settle }: TestClockOptions = {}): TestClock {
  let now = start;
  let timers: readonly Timer[] = [];

  function take(until: number): Timer | undefined {
    const [next, ...rest] = timers;
    if (next === undefined || next.due > until) return undefined;
    timers = rest;
    return next;
  }

  return {
    now: () => now,
    after(ms, run) {
      const timer = { due: now + Math.max(ms, 0), run };
      const place = timers.findIndex(({ due }) => due > timer.due);
      timers = place < 0 ? [...timers, timer] : timers.toSpliced(place, 0, timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    async advance(ms) {
      const until = now + ms;
      await settled();
      for (let timer = take(until); timer !== undefined; timer = take(until)) {
        now = timer.due;
        timer.run();
        await settled();
      }
      now = until;
    },
    pending: () => timers.map(({ due }) => due),
  };
}
