import type { Budget, Figures, Row } from "./row.ts";

export interface Verdict {
  readonly budget: string;
  /** What was measured in the budget's own terms, absent when a side of it was not run. */
  readonly measured?: number;
  readonly verdict: "ok" | "missed" | "not measured";
}

/** Holds a row's figures against its budgets; `others` are the figures of rows that ran before. */
export function judge(row: Row, figures: Figures, others: ReadonlyMap<string, Figures>): readonly Verdict[] {
  return row.budgets.map((budget) => {
    const text = describe(budget, row.unit);
    const base = baseOf(budget, figures, others);
    if (figures.ours === undefined || base === undefined) return { budget: text, verdict: "not measured" };
    const measured = figures.ours / base;
    return { budget: text, measured, verdict: measured <= budget.atMost ? "ok" : "missed" };
  });
}

function baseOf(budget: Budget, figures: Figures, others: ReadonlyMap<string, Figures>): number | undefined {
  if (budget.of === "unit") return 1;
  return budget.of === "row" ? others.get(budget.row)?.ours : figures[budget.of];
}

function describe(budget: Budget, unit: string): string {
  if (budget.of === "unit") return `≤ ${budget.atMost} ${unit}`;
  return budget.of === "row" ? `≤ ${budget.atMost} × "${budget.row}"` : `≤ ${budget.atMost} × ${budget.of}`;
}
