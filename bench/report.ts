import { mkdir, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import type { Figures, Row } from "./row.ts";
import type { Verdict } from "./verdict.ts";

/** One line of the table and of the results file. */
export interface Result {
  readonly row: Row;
  readonly figures: Figures;
  readonly verdicts: readonly Verdict[];
  readonly error?: string;
}

const widths = [46, 7, 11, 11, 13, 8, 9] as const;

export function tableHead(): string {
  return columns(["row", "unit", "floor", "ours", "@a2a-js/sdk", "× floor", "× peer"], "budget");
}

export function tableLine({ row, figures, verdicts, error }: Result): string {
  const cells = [row.name, row.unit, ...(["floor", "ours", "peer"] as const).map((side) => figure(figures[side]))];
  const ratios = [figures.over?.floor, figures.over?.peer].map((value) => figure(value));
  return columns([...cells, ...ratios], error ? `failed: ${error}` : verdicts.map(summary).join("; "));
}

/** Writes one results file for a run: the machine, the date, and every row with its verdicts. */
export async function writeResults(folder: URL, results: readonly Result[], options: object): Promise<URL> {
  const date = new Date().toISOString();
  const file = new URL(`${date.replaceAll(/[:.]/g, "-")}.json`, folder);
  const processors = cpus();
  const content = {
    date,
    machine: {
      cpu: processors[0]?.model ?? "unknown",
      cores: processors.length,
      memoryBytes: totalmem(),
      platform: `${process.platform} ${process.arch}`,
      node: process.version,
    },
    options,
    rows: results.map(resultJson),
  };
  await mkdir(folder, { recursive: true });
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`);
  return file;
}

function resultJson({ row, figures, verdicts, error }: Result): object {
  const { over, ...best } = figures;
  return {
    name: row.name,
    unit: row.unit,
    what: row.what,
    ...best,
    ratio: over,
    budget: verdicts,
    verdict: error === undefined ? overall(verdicts) : "failed",
    ...(error === undefined ? {} : { error }),
  };
}

function overall(verdicts: readonly Verdict[]): Verdict["verdict"] {
  if (verdicts.some(({ verdict }) => verdict === "missed")) return "missed";
  return verdicts.some(({ verdict }) => verdict === "not measured") ? "not measured" : "ok";
}

function summary({ budget, measured, verdict }: Verdict): string {
  return verdict === "missed" ? `${budget} MISSED (${figure(measured)})` : `${budget} ${verdict}`;
}

function columns(cells: readonly string[], last: string): string {
  const padded = cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[index] ?? 0)));
  return `${padded.join(" ")}  ${last}`;
}

function figure(value: number | undefined): string {
  if (value === undefined) return "–";
  return value.toFixed(value === 0 || value >= 1000 ? 0 : value < 1 ? 3 : value < 10 ? 2 : 1);
}
