import fc from "fast-check";
import { expect, it } from "vitest";
import { keepTimers, sharedTimers, TimerQueue } from "../../../src/protocol/async/timer-queue.js";
import { createTestClock } from "../../../src/testing/test-clock.js";

const queueMs = 100;

it("timers of a queue run once, at the time at which timers of the clock would, in any order of setting and canceling", async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant("add" as const) }),
    fc.record({ kind: fc.constant("cancel" as const), index: fc.nat(20) }),
    fc.record({ kind: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 150 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
      const clock = createTestClock();
      const queue = new TimerQueue(clock, queueMs);
      const ran: string[] = [];
      const expected: string[] = [];
      const cancels: (() => void)[] = [];
      for (const each of script) {
        if (each.kind === "advance") await clock.advance(each.ms);
        else if (each.kind === "cancel") cancels[each.index]?.();
        else {
          const name = String(cancels.length);
          const cancel = queue.add(() => ran.push(`${name} at ${clock.now()}`));
          const cancelOwn = clock.after(queueMs, () => expected.push(`${name} at ${clock.now()}`));
          cancels.push(() => {
            cancel();
            cancelOwn();
          });
        }
      }
      await clock.advance(2 * queueMs);
      expect(ran).toEqual(expected);
    }),
  );
});

it("a queue sets one timer of the clock for all that wait, and none once that has run out", async () => {
  const clock = createTestClock();
  const queue = new TimerQueue(clock, queueMs);
  const cancels = Array.from({ length: 1_000 }, () => queue.add(() => expect.unreachable()));
  expect(clock.pending()).toHaveLength(1);
  for (const cancel of cancels) cancel();
  await clock.advance(queueMs);
  expect(clock.pending()).toEqual([]);
});

it("a timer may set the next one while it runs", async () => {
  const clock = createTestClock();
  const queue = new TimerQueue(clock, queueMs);
  const times: number[] = [];
  const again = (): void => {
    times.push(clock.now());
    if (times.length < 3) queue.add(again);
  };
  const start = clock.now();
  queue.add(again);
  await clock.advance(3 * queueMs);
  expect(times).toEqual([1, 2, 3].map((count) => start + count * queueMs));
});

it("shared timers stay for others while a process uses the clock, and none stays behind the last", () => {
  const clock = createTestClock();
  const timers = sharedTimers(clock, 100);
  expect(sharedTimers(clock, 100)).toBe(timers);
  const release = keepTimers(clock);
  timers.add(() => {})();
  sharedTimers(clock, 200).add(() => {});
  expect(clock.pending()).toEqual([clock.now() + 100, clock.now() + 200]);
  release();
  expect(clock.pending()).toEqual([clock.now() + 200]);
  timers.add(() => {})();
  expect(clock.pending()).toEqual([clock.now() + 200]);
});
