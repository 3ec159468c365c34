import { expect, it } from "vitest";
import type { Claim } from "../../src/rates/counters.js";
import type { WindowLimit } from "../../src/rates/limits.js";
import { LocalCounters } from "../../src/rates/local-counters.js";
import { computeShift, findPeriod } from "../../src/rates/rate.js";
import { createVirtualClock } from "../support/virtual-clock.js";

const hourMs = 3_600_000;

const limitOf = (limit: number, what: WindowLimit["resource"] = "requests"): WindowLimit => {
  const path = `owner.${what}`;
  return {
    path,
    name: path,
    ofServer: false,
    callerKind: "owner",
    scopeText: "",
    resource: what,
    limit,
    windowMs: hourMs,
    text: `${limit}/hour`,
  };
};
const claim = (limit: WindowLimit, key: string, amount = 1): Claim => {
  return { limit, key, amount, isUsed: limit.resource === "bytes" };
};

function openCounters() {
  const clock = createVirtualClock();
  const counters = new LocalCounters(clock);
  const isTaken = (...claims: readonly Claim[]) => counters.take(claims).refusal === undefined;
  return { clock, counters, isTaken };
}

it("a window ends by the clock of the process, at a time of its caller's own", async () => {
  const { clock, counters, isTaken } = openCounters();
  const owner = limitOf(1);
  expect([isTaken(claim(owner, "a")), isTaken(claim(owner, "a"))]).toEqual([true, false]);
  const { refusal: refused } = counters.take([claim(owner, "a")]);
  const { endsInMs } = findPeriod(clock.now(), hourMs, computeShift("a", hourMs));
  expect(refused).toEqual({ limit: owner, left: 0, endsInMs });
  await clock.advance(endsInMs - 1);
  expect(isTaken(claim(owner, "a"))).toBe(false);
  await clock.advance(1);
  expect(isTaken(claim(owner, "a"))).toBe(true);
  expect(computeShift("a", hourMs)).not.toBe(computeShift("b", hourMs));
});

it("calls get no more than there is, and a refused call takes nothing", () => {
  const { isTaken, counters } = openCounters();
  const [wide, narrow] = [limitOf(10), { ...limitOf(3), name: "tenant.requests" }];
  const calls = Array.from({ length: 9 }, () => isTaken(claim(wide, "a"), claim(narrow, "t")));
  expect(calls.filter(Boolean)).toHaveLength(3);
  expect(counters.take([claim(wide, "a")])).toMatchObject({ refusal: undefined, balances: [{ left: 6 }] });
});

it("a use that is taken back after its window has ended is not taken from the next window", async () => {
  const { clock, counters, isTaken } = openCounters();
  const owner = limitOf(1);
  const { undo } = counters.take([claim(owner, "a")]);
  await clock.advance(hourMs);
  undo();
  expect([isTaken(claim(owner, "a")), isTaken(claim(owner, "a"))]).toEqual([true, false]);
});

it("the use that reaches a budget is counted whole, and the next one is refused", () => {
  const { isTaken, counters } = openCounters();
  const bytes = limitOf(1000, "bytes");
  expect(isTaken(claim(bytes, "a", 999))).toBe(true);
  expect(isTaken(claim(bytes, "a", 5000))).toBe(true);
  expect(isTaken(claim(bytes, "a", 0))).toBe(false);
  expect(counters.charge([claim(bytes, "b", 5000)])).toMatchObject([{ left: 0 }]);
});

it("beyond 100,000 callers of a window, each of them keeps its count and further ones share 10,000 counts", async () => {
  const { isTaken, clock } = openCounters();
  const owner = limitOf(2);
  for (let index = 0; index < 100_000; index++) isTaken(claim(owner, `caller ${index}`));
  // More than there are counts, so that some of them are used up.
  const further = Array.from({ length: 25_000 }, (_, index) => `further ${index}`);
  const results = further.map((key) => isTaken(claim(owner, key)));
  const count = results.filter(Boolean).length;
  expect(count).toBeGreaterThan(10_000);
  expect(count).toBeLessThanOrEqual(20_000);
  expect([isTaken(claim(owner, "caller 7")), isTaken(claim(owner, "caller 7"))]).toEqual([true, false]);
  await clock.advance(2 * hourMs);
  const refused = further[results.indexOf(false)] ?? "";
  expect([isTaken(claim(owner, refused)), isTaken(claim(owner, "caller 7"))]).toEqual([true, true]);
});
