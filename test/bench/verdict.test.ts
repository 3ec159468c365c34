import { describe, expect, it } from "vitest";
import { type Result, tableOf } from "../../bench/report.ts";
import { runRow } from "../../bench/rounds.ts";
import { judge } from "../../bench/verdict.ts";
import { beforeBudget, rowOf } from "./figures.js";

const wanted = ["ours", "before"] as const;

/** Returns the line of a row, given the times of each round for ours and for the build before. */
async function resultOf(ours: readonly number[], before: readonly number[]): Promise<Result> {
  const { row } = rowOf({ ours, before }, { budgets: [beforeBudget, { of: "peer", atMost: 1 }] });
  const figures = await runRow(row, wanted, { rounds: ours.length, quick: false });
  return { row, figures, verdicts: judge(row, figures, new Map()) };
}

const hundred = [100.2, 99.7, 100.9, 98.8, 100.1, 99.5, 101.3, 100.4];
const times = (factors: readonly number[]) => hundred.map((figure, round) => figure * (factors[round] ?? 1));

describe("the verdict on a row beside the build of before", () => {
  it("the verdict on a row is missed when the whole interval is above 1.03", async () => {
    const slower = await resultOf(times([1.04, 1.06, 1.05, 1.035, 1.07, 1.045, 1.055, 1.05]), hundred);
    expect(slower.verdicts[0]).toMatchObject({ budget: "≤ 1.03 × before", verdict: "missed" });
    expect(slower.figures.over?.before?.interval?.low).toBeGreaterThan(1.03);
    expect(tableOf(wanted).line(slower)).toMatch(/1\.05\d \(1\.0\d\d–1\.0\d\d\) {2}≤ 1\.03 × before MISSED \(1\.05\)$/);
  });

  it("the verdict on a row is unclear, and no failure, when the interval holds 1.03", async () => {
    const noisy = await resultOf(times([1.09, 0.96, 1.12, 1.02, 1.1, 0.98, 1.05, 1.07]), hundred);
    expect(noisy.figures.over?.before?.ratio).toBeGreaterThan(1.03);
    expect(noisy.verdicts[0]?.verdict).toBe("unclear");
  });

  it("the verdict on a row is ok when the whole interval is below, as for two equal builds", async () => {
    const same = await resultOf(hundred, hundred.toReversed());
    expect(same.figures.over?.before?.ratio).toBeCloseTo(1, 2);
    expect(same.verdicts[0]?.verdict).toBe("ok");
    expect((await resultOf(times([0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]), hundred)).verdicts[0]?.verdict).toBe("ok");
  });

  it("the verdict on a row is not measured with too few rounds, figures of 0 or a failed build", async () => {
    const [few, zeros] = [await resultOf([2, 2], [1, 1]), await resultOf([0, 0], [0, 0])];
    expect(few.verdicts[0]).toMatchObject({ verdict: "not measured", reason: "too few rounds" });
    expect(zeros.verdicts[0]).toMatchObject({ verdict: "not measured", reason: "figures of 0 have no ratio" });
    const { row } = few;
    const verdicts = judge(row, { ours: 1, noBefore: "this build has no bench/servers/new.ts\nat x" }, new Map());
    const line = tableOf(wanted).line({ row, figures: { ours: 1 }, verdicts });
    expect(line).toMatch(/– {2}≤ 1\.03 × before not measured: this build has no bench\/servers\/new\.ts$/);
  });

  it("the verdict on a row leaves out the budgets of sides that were not asked for", async () => {
    expect(tableOf(wanted).line(await resultOf(hundred, hundred))).not.toContain("peer");
    expect(tableOf(wanted).head.split(/ {2,}/)).toEqual([
      ...["row", "unit", "ours", "before", "× before (95 %)", "budget"],
    ]);
  });
});
