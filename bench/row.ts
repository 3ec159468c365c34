/** Who stands in a row: bare Node doing the same wire work, this framework, and the JavaScript SDK of the protocol. */
export const sides = ["floor", "ours", "peer"] as const;
export type Side = (typeof sides)[number];

/** One number per call; the best of several rounds stands in the table. Lower is better in every row. */
export interface Probe extends AsyncDisposable {
  measure(): Promise<number>;
}

/** What `ours` must stay under: a multiple of another side, of our own figure in another row, or a plain number. */
export type Budget =
  | { readonly of: "floor" | "peer"; readonly atMost: number }
  | { readonly of: "row"; readonly row: string; readonly atMost: number }
  | { readonly of: "unit"; readonly atMost: number };

export interface Row {
  readonly name: string;
  readonly unit: "µs" | "ms" | "s" | "bytes" | "KB" | "events" | "commits";
  /** What one unit of the figure is spent on, for the results file. */
  readonly what: string;
  readonly budgets: readonly Budget[];
  readonly start: Readonly<Partial<Record<Side, () => Promise<Probe>>>>;
  /** Fewer rounds for a side that takes long. */
  readonly maxRounds?: Readonly<Partial<Record<Side, number>>>;
}

/** The best of each side, and what ours is as a multiple of another side. */
export interface Figures extends Readonly<Partial<Record<Side, number>>> {
  readonly over?: Readonly<Partial<Record<Side, number>>>;
}

/** How much to do: `--quick` divides the work of a round, never what is checked. */
export interface Effort {
  readonly rounds: number;
  readonly quick: boolean;
}

/** The count for this effort: a quarter of it, and at least `least`, in a quick run. */
export function scaled(count: number, effort: Effort, least = 1): number {
  return effort.quick ? Math.max(least, Math.ceil(count / 4)) : count;
}
