import type { Ratio } from "./interval.ts";

/** Who stands in a row: bare Node doing the same wire work, this framework, and the JavaScript SDK of the protocol. */
export const sides = ["floor", "ours", "peer"] as const;
export type Side = (typeof sides)[number];

/**
 * Who is measured, in the order of the table: the sides, `ours` by another build (`--before`), and the official Go SDK, in
 * the rows whose load comes from Go too.
 */
export const subjects = ["floor", "ours", "before", "peer", "go"] as const;
export type Subject = (typeof subjects)[number];
export type PerSubject<T> = Readonly<Partial<Record<Subject, T>>>;

/** What measures a side in one round; the best of several rounds stands in the table. Lower is better in every row. */
export interface Probe extends AsyncDisposable {
  /** The figure of one slice of the round's work. */
  measure(): Promise<number>;
  /** The slices of a round, which the sides do in turn. Default: 1. */
  readonly slices?: number;
}

/** What `before` failed with: it cannot stand in this row. */
export class BeforeRefused extends Error {}

/** The units of work in a slice: about as long as the speed of a busy machine stays the same. */
const sliceUnits = 250;

/** Divides so much work of a round into slices. */
export function slicesOf(count: number, perUnit = 1): { readonly slices: number; readonly each: number } {
  const slices = Math.min(count, Math.max(1, Math.round((count * perUnit) / sliceUnits)));
  return { slices, each: Math.ceil(count / slices) };
}

/**
 * What `ours` must stay under: a multiple of another side, of our own figure in another row, or a plain number. A multiple
 * of `before` is exceeded only when the whole interval of the ratio lies above it.
 */
export type Budget =
  | { readonly of: "floor" | "peer" | "go" | "before"; readonly atMost: number }
  | { readonly of: "row"; readonly row: string; readonly atMost: number }
  | { readonly of: "unit"; readonly atMost: number };

export interface Row {
  readonly name: string;
  readonly unit: "µs" | "ms" | "s" | "bytes" | "KB" | "events" | "commits";
  /** What one unit of the figure is spent on, for the results file. */
  readonly what: string;
  readonly budgets: readonly Budget[];
  readonly start: PerSubject<() => Promise<Probe>>;
  /** Fewer rounds for a side that takes long; beside `before`, `ours` has at least as many as an interval needs. */
  readonly maxRounds?: PerSubject<number>;
  /** What the row needs and this machine does not have. */
  readonly missing?: string;
  /** Not measured beside another build: it takes long, and its figure says enough by itself. Default: false. */
  readonly isAlone?: boolean;
}

/** The best of each side, and what ours is as a multiple of another side. */
export interface Figures extends PerSubject<number> {
  readonly over?: PerSubject<Ratio>;
  /** Why `before` has no figure, when it was asked for one and could not give it. */
  readonly noBefore?: string;
}

/** How much to do: `--quick` divides the work of a round, never what is checked. */
export interface Effort {
  readonly rounds: number;
  readonly quick: boolean;
}

/** The count for this effort: a quarter of it, and at least `least`, in a quick run. */
export function scaleCount(count: number, effort: Effort, least = 1): number {
  return effort.quick ? Math.max(least, Math.ceil(count / 4)) : count;
}
