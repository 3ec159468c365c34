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
    const measured = measuredFor(budget, figures, others);
    if (measured === undefined) return { budget: text, verdict: "not measured" };
    return { budget: text, measured, verdict: measured <= budget.atMost ? "ok" : "missed" };
  });
}

function measuredFor(
  budget: Budget,
  { ours, over }: Figures,
  others: ReadonlyMap<string, Figures>,
): number | undefined {
  if (budget.of === "unit") return ours;
  if (budget.of !== "row") return over?.[budget.of];
  const other = others.get(budget.row)?.ours;
  return ours === undefined || other === undefined ? undefined : ours / other;
}

function describe(budget: Budget, unit: string): string {
  if (budget.of === "unit") return `≤ ${budget.atMost} ${unit}`;
  return budget.of === "row" ? `≤ ${budget.atMost} × "${budget.row}"` : `≤ ${budget.atMost} × ${budget.of}`;
}
