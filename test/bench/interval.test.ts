import { describe, expect, it } from "vitest";
import { leastRounds, ratioOf } from "../../bench/interval.ts";

/** Ratios of rounds of two builds whose real ratio is 1.05, each round off by up to a few percent. */
const slower = [1.031, 1.062, 1.048, 1.07, 1.055, 1.039, 1.061, 1.044, 1.052, 1.058];

describe("the ratio of two builds", () => {
  it("the ratio of two builds is the median of the averages of any two rounds, with the exact interval", () => {
    // Sorted, the 55 averages of two logarithms: the 9th and the 47th bound the interval of ten rounds.
    const logs = slower.map(Math.log);
    const averages = logs.flatMap((log, index) => logs.slice(index).map((other) => (log + other) / 2));
    const sorted = averages.toSorted((a, b) => a - b).map(Math.exp);
    const { ratio, interval } = ratioOf(slower) ?? {};
    expect(ratio).toBeCloseTo(sorted[27] ?? 0, 12);
    expect(interval?.low).toBeCloseTo(sorted[8] ?? 0, 12);
    expect(interval?.high).toBeCloseTo(sorted[46] ?? 0, 12);
  });

  it("the ratio of two builds is 1 when both measure the same", () => {
    expect(ratioOf(Array.from({ length: 12 }, () => 1))).toEqual({ ratio: 1, interval: { low: 1, high: 1 } });
  });

  it("the ratio of two builds is inverted when the sides are swapped", () => {
    const { ratio = 0, interval } = ratioOf(slower.map((one) => 1 / one)) ?? {};
    const turned = ratioOf(slower);
    expect(1 / ratio).toBeCloseTo(turned?.ratio ?? 0, 12);
    expect(1 / (interval?.high ?? 0)).toBeCloseTo(turned?.interval?.low ?? 0, 12);
  });

  it("the ratio of two builds has an interval from six rounds on, which then takes in all of them", () => {
    const six = slower.slice(0, leastRounds);
    const { low = 0, high = 0 } = ratioOf(six)?.interval ?? {};
    expect([low, high]).toEqual([expect.closeTo(Math.min(...six)), expect.closeTo(Math.max(...six))]);
    expect(ratioOf(six.slice(1))).toEqual({ ratio: expect.closeTo(1.055) });
    expect(ratioOf([])).toBeUndefined();
  });

  it("the ratio of two builds is moved little by a round that something disturbed", () => {
    const twelve = [...slower, 1.053, 1.047];
    const disturbed = [...twelve.slice(1), 3];
    const { low = 0, high = 0 } = ratioOf(disturbed)?.interval ?? {};
    expect(low).toBeGreaterThan(1.03);
    expect(high).toBeLessThan(1.08);
  });

  it("the ratio of two builds is inside its interval in about 95 of 100 series", () => {
    const random = randomFrom(7);
    let held = 0;
    for (let series = 0; series < 1_000; series++) {
      const measured = Array.from({ length: 12 }, () => 1.02 * Math.exp(noise(random)));
      const { low = 0, high = 0 } = ratioOf(measured)?.interval ?? {};
      if (low <= 1.02 && 1.02 <= high) held += 1;
    }
    expect(held / 1_000).toBeGreaterThan(0.935);
    expect(held / 1_000).toBeLessThan(0.975);
  });
});

/** Symmetric noise; one round in ten has ten times as much. */
function noise(random: () => number): number {
  const usual = (random() + random() + random() - 1.5) * 0.04;
  return random() < 0.1 ? usual * 10 : usual;
}

/** A linear congruential generator: numbers between 0 and 1, the same in every run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
