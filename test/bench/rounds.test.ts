import { describe, expect, it } from "vitest";
import { runRow } from "../../bench/rounds.ts";
import { BeforeRefused, subjects } from "../../bench/row.ts";
import { rowOf } from "./figures.js";

const rounds = (count: number) => ({ rounds: count, quick: true });

describe("the rounds of a row", () => {
  it("the rounds of a row restart both builds, each of which is measured first in every other round", async () => {
    const { row, steps } = rowOf({ ours: [1, 1], before: [1, 1] });
    await runRow(row, subjects, rounds(2));
    expect(steps).toEqual([
      ...["+ours", "+before", "ours", "before", "-before", "-ours"],
      ...["+before", "+ours", "before", "ours", "-ours", "-before"],
    ]);
  });

  it("the rounds of a row take turns at the slices of a round, forwards and backwards", async () => {
    const { row, steps } = rowOf({ ours: [[1, 1, 1]], before: [[1, 1, 1]] });
    await runRow(row, subjects, rounds(1));
    const measured = steps.filter((step) => /^\w/.test(step));
    expect(measured).toEqual(["ours", "before", "before", "ours", "ours", "before"]);
  });

  it("the rounds of a row compare each slice with the one beside it, whatever the machine's speed", async () => {
    const speeds = [1, 3, 2, 5];
    const slower = speeds.map((speed) => speed * 110);
    const { row } = rowOf({ ours: [slower], before: [speeds.map((speed) => speed * 100)] });
    const { ours, before, over } = await runRow(row, subjects, rounds(1));
    expect(over?.before?.ratio).toBeCloseTo(1.1);
    expect([ours, before]).toEqual([302.5, 275]);
  });

  it("the rounds of a row give the best round of each side, and the ratio with its interval from six on", async () => {
    const { row } = rowOf({
      ours: [103, 101, 102, 103, 105, 104],
      before: [100, 100, 100, 100, 100, 100],
      floor: [50],
    });
    const { over, ...best } = await runRow({ ...row, maxRounds: { floor: 1 } }, subjects, rounds(6));
    expect(best).toEqual({ floor: 50, ours: 101, before: 100 });
    expect(over?.before?.interval).toEqual({ low: expect.closeTo(1.01), high: expect.closeTo(1.05) });
    expect(over?.floor).toEqual({ ratio: expect.closeTo(2.06) });
  });

  it("the rounds of a row are as many as an interval takes where the row has fewer of ours", async () => {
    const series = [1, 1, 1, 1, 1, 1, 1];
    const { row } = rowOf({ ours: series, before: series }, { maxRounds: { ours: 2 } });
    expect((await runRow(row, subjects, rounds(12))).over?.before?.interval).toEqual({ low: 1, high: 1 });
    const { row: alone, steps } = rowOf({ ours: series }, { maxRounds: { ours: 2 } });
    await runRow(alone, subjects, rounds(12));
    expect(steps.filter((step) => step === "ours")).toHaveLength(2);
  });

  it("the rounds of a row continue without the older build when it cannot run the row", async () => {
    const { row } = rowOf({ ours: [2, 1], floor: [1, 1] });
    const before = () => Promise.reject(new BeforeRefused("no such option: deadlineMs"));
    const figures = await runRow({ ...row, start: { ...row.start, before } }, subjects, rounds(1));
    expect(figures).toEqual({
      floor: 1,
      ours: 1,
      over: { floor: { ratio: 1 } },
      noBefore: "no such option: deadlineMs",
    });
  });

  it("the rounds of a row fail when the current build fails", async () => {
    const { row } = rowOf({ before: [1] });
    const ours = () => Promise.reject(new Error("a server left with code 1"));
    await expect(runRow({ ...row, start: { ...row.start, ours } }, subjects, rounds(1))).rejects.toThrow("code 1");
  });

  it("the rounds of a row give figures of 0 no ratio", async () => {
    const { row } = rowOf({ ours: [0, 0], before: [0, 0] });
    expect(await runRow(row, subjects, rounds(2))).toEqual({ ours: 0, before: 0, over: {} });
  });
});
