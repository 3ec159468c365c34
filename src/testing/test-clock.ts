import { setImmediate } from "node:timers/promises";
import type { Clock } from "../core/ports.js";
import { amount, assertOptions, func, type MembersOf, object } from "../protocol/check/rules.js";

interface Timer {
  readonly due: number;
  readonly run: () => void;
}

/** A clock that only moves when advanced. */
export interface TestClock extends Clock {
  /**
   * Advances the clock by `ms`. Due timers run in order, each at its time, and their effects settle before the next
   * timer runs.
   */
  advance(ms: number): Promise<void>;
  /** Due times of pending timers, soonest first. */
  pending(): readonly number[];
}

/** Options of `createTestClock`. */
export interface TestClockOptions {
  /** Milliseconds since 1970. Default: the start of 2026. */
  readonly start?: number | undefined;
  /** Resolves when all work that waits for no timer is done. Default: `settle`. */
  readonly settled?: (() => Promise<void>) | undefined;
}

const members: MembersOf<TestClockOptions> = { start: { rule: amount }, settled: { rule: func } };
const rule = object(members);

// Work that yields to the event loop once or twice still counts as an effect of the timer.
const settleRounds = 3;

/**
 * Waits until all work has run that waits for no timer, socket or file.
 *
 * @example
 * ```ts
 * let isDone = false;
 * void client.send("hello").then(() => {
 *   isDone = true;
 * });
 * await settle();
 * assert.equal(isDone, true);
 * ```
 */
export async function settle(): Promise<void> {
  for (let round = 0; round < settleRounds; round += 1) await setImmediate();
}

/**
 * Advances a clock second by second until a promise settles.
 *
 * @example
 * ```ts
 * await turnUntil(clock, client.close());
 * ```
 */
export async function turnUntil(clock: TestClock, promise: Promise<void>): Promise<void> {
  let isDone = false;
  const end = promise.finally(() => {
    isDone = true;
  });
  while (!isDone) await clock.advance(1000);
  await end;
}

/**
 * Creates a clock for tests: the option `clock` of an agent, a client or a store.
 *
 * @example
 * ```ts
 * const clock = createTestClock();
 * await using client = await connectTo(agent, { clock, limits: { turnDeadlineMs: 60_000 } });
 * const answer = client.send("wait for ever");
 * await clock.advance(60_000);
 * assert.equal((await answer).state, "failed");
 * ```
 */
export function createTestClock(options: TestClockOptions = {}): TestClock {
  assertOptions("createTestClock()", options, rule);
  const { start = Date.UTC(2026, 0, 1), settled = settle } = options;
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
