import type { Budget, Probe, Row, Subject } from "../../bench/row.ts";

/** One figure per round, or several for the slices of a round. */
export type Series = readonly (number | readonly number[])[];

export interface RecordedRow {
  readonly row: Row;
  /** The events in order: `+ours` started, `ours` measured, `-ours` ended. */
  readonly steps: string[];
}

/** A row whose sides measure the given figures, with one start per round. */
export function rowOf(series: Readonly<Partial<Record<Subject, Series>>>, rest: Partial<Row> = {}): RecordedRow {
  const steps: string[] = [];
  const started = new Map<string, number>();
  const starter = (side: string, rounds: Series) => async (): Promise<Probe> => {
    const round = started.get(side) ?? 0;
    started.set(side, round + 1);
    const figures = [rounds[round] ?? []].flat();
    steps.push(`+${side}`);
    let slice = 0;
    return {
      slices: figures.length,
      measure: async () => {
        steps.push(side);
        return figures[slice++] ?? Number.NaN;
      },
      [Symbol.asyncDispose]: async () => void steps.push(`-${side}`),
    };
  };
  const start = Object.fromEntries(Object.entries(series).map(([side, rounds]) => [side, starter(side, rounds)]));
  return { row: { name: "row", unit: "µs", what: "", budgets: [], start, ...rest }, steps };
}

export const beforeBudget: Budget = { of: "before", atMost: 1.03 };
