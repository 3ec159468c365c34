import type { Ratio } from "./interval.ts";
import type { Budget, Figures, Row } from "./row.ts";

export interface Verdict {
  readonly budget: string;
  /** What was measured in the budget's own terms, absent when a side of it was not run. */
  readonly measured?: number;
  /** `unclear`: the interval holds the limit, so that more rounds are needed to say. It counts as no failure. */
  readonly verdict: "ok" | "missed" | "unclear" | "not measured";
  /** Why it was not measured, when that was not what was asked for. */
  readonly reason?: string;
}

/** Holds a row's figures against its budgets; `others` are the figures of rows that ran before. */
export function judge(row: Row, figures: Figures, figuresByRow: ReadonlyMap<string, Figures>): readonly Verdict[] {
  return row.budgets.map((budget) => {
    const text = describe(budget, row.unit);
    if (budget.of === "before") return { budget: text, ...judgeBefore(budget.atMost, figures) };
    const value = measuredFor(budget, figures, figuresByRow);
    if (value === undefined) return { budget: text, verdict: "not measured" };
    return { budget: text, measured: value, verdict: value <= budget.atMost ? "ok" : "missed" };
  });
}

function judgeBefore(atMost: number, figures: Figures): Omit<Verdict, "budget"> {
  const { ratio, interval }: Partial<Ratio> = figures.over?.before ?? {};
  if (ratio === undefined) return { verdict: "not measured", reason: reasonOf(figures) };
  if (interval === undefined) return { measured: ratio, verdict: "not measured", reason: "too few rounds" };
  const verdict = interval.low > atMost ? "missed" : interval.high > atMost ? "unclear" : "ok";
  return { measured: ratio, verdict };
}

function reasonOf({ before, noBefore }: Figures): string {
  return noBefore ?? (before === undefined ? "no rounds" : "figures of 0 have no ratio");
}

function measuredFor(
  budget: Exclude<Budget, { of: "before" }>,
  { ours, over }: Figures,
  figuresByRow: ReadonlyMap<string, Figures>,
): number | undefined {
  if (budget.of === "unit") return ours;
  if (budget.of !== "row") return over?.[budget.of]?.ratio;
  const otherFigure = figuresByRow.get(budget.row)?.ours;
  return ours === undefined || otherFigure === undefined ? undefined : ours / otherFigure;
}

function describe(budget: Budget, unit: string): string {
  if (budget.of === "unit") return `≤ ${budget.atMost} ${unit}`;
  return budget.of === "row" ? `≤ ${budget.atMost} × "${budget.row}"` : `≤ ${budget.atMost} × ${budget.of}`;
}
