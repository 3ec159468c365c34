import { expect, it } from "vitest";
import { SilenceWatch } from "../../../src/client/stream/silence-watch.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

const secondMs = 1_000;

/** The seconds at which the watch checks, up to a given one. */
async function looks(untilS: number, at: Readonly<Record<number, (watch: SilenceWatch) => void>> = {}) {
  const clock = createVirtualClock(0);
  const moments: number[] = [];
  const watch = new SilenceWatch(clock, 4 * secondMs, async () => void moments.push(clock.now() / secondMs));
  watch.start();
  for (let second = 1; second <= untilS; second++) {
    await clock.advance(secondMs);
    at[second]?.(watch);
  }
  return { moments, pending: clock.pending().length };
}

it("the silence watch looks after a silence, and less and less often while it lasts", async () => {
  expect((await looks(200)).moments.slice(0, 6)).toEqual([4, 10, 19, 32.5, 52.75, 83.125]);
});

it("the silence watch looks at most ten times less often", async () => {
  const { moments } = await looks(400);
  expect((moments.at(-1) ?? 0) - (moments.at(-2) ?? 0)).toBe(40);
});

it("the silence watch does not check while events arrive, and starts again after them", async () => {
  const { moments } = await looks(30, { 2: (watch) => watch.noteEvent(), 13: (watch) => watch.noteEvent() });
  expect(moments).toEqual([8, 18, 24]);
});

it("the silence watch restarts with a new connection, and ends when it is stopped", async () => {
  const { moments, pending } = await looks(30, { 3: (watch) => watch.start(), 8: (watch) => watch.stop() });
  expect([moments, pending]).toEqual([[7], 0]);
});

it("the silence watch does not wait again when it was stopped while it looked", async () => {
  const clock = createVirtualClock(0);
  const watch: SilenceWatch = new SilenceWatch(clock, secondMs, async () => watch.stop());
  watch.start();
  await clock.advance(10 * secondMs);
  expect(clock.pending()).toEqual([]);
});
