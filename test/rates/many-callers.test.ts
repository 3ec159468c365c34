import { expect, it } from "vitest";
import { silentLogger } from "../../src/protocol/logger.js";
import type { Claim } from "../../src/rates/counters.js";
import type { WindowLimit } from "../../src/rates/limits.js";
import { LocalCounters } from "../../src/rates/local-counters.js";
import { SharedCounters } from "../../src/rates/shared-counters.js";
import { memoryRates } from "../../src/store/memory/rates.js";
import { settledHeap } from "../support/heap.js";
import { createVirtualClock } from "../support/virtual-clock.js";

const mebibyte = 1 << 20;

const limit: WindowLimit = {
  ...{
    path: "address.requests",
    name: "address.requests",
    ofServer: false,
    callerKind: "address",
    scopeText: "",
    resource: "requests",
  },
  ...{ limit: 64, windowMs: 86_400_000, text: "64/day" },
};
const claim = (key: string): Claim => ({ limit, key, amount: 1, isUsed: false });

it("more callers than can be counted each by itself take no more memory, and give none of them a new count", async () => {
  const clock = createVirtualClock();
  const local = new LocalCounters(clock);
  const counters = new SharedCounters({
    ...{ store: memoryRates(clock), scope: "test", local, clock, logger: silentLogger },
  });
  const isTaken = async (key: string): Promise<boolean> => (await counters.take([claim(key)])).refusal === undefined;
  const flood = async (name: string, count: number): Promise<void> => {
    for (let first = 0; first < count; first += 500)
      await Promise.all(Array.from({ length: 500 }, (_, index) => isTaken(`${name} ${first + index}`)));
  };

  for (let calls = 0; calls < 60; calls++) expect(await isTaken("honest")).toBe(true);
  await flood("first", 120_000);
  const before = settledHeap();
  await flood("second", 120_000);
  expect(settledHeap() - before).toBeLessThan(12 * mebibyte);
  // What it had left: no more, and of that at most the block that was given up is lost.
  const more: boolean[] = [];
  for (let calls = 0; calls < 8; calls++) more.push(await isTaken("honest"));
  expect(more.slice(4)).toEqual([false, false, false, false]);
  expect(more[0]).toBe(true);

  // In the next window, callers have counts of their own again.
  await clock.advance(2 * limit.windowMs);
  for (let calls = 0; calls < limit.limit; calls++) expect(await isTaken("second 119999")).toBe(true);
  expect(await isTaken("second 119999")).toBe(false);
  for (let calls = 0; calls < limit.limit; calls++) expect(await isTaken("honest")).toBe(true);
});
