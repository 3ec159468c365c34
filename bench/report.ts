import { mkdir, writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import type { Ratio } from "./interval.ts";
import type { Figures, PerSubject, Row, Subject } from "./row.ts";
import type { Verdict } from "./verdict.ts";

/** One line of the table and of the results file. */
export interface Result {
  readonly row: Row;
  readonly figures: Figures;
  readonly verdicts: readonly Verdict[];
  readonly error?: string;
}

interface Column {
  readonly head: string;
  readonly width: number;
  cell(result: Result): string;
}

const rowColumns: readonly Column[] = [
  { head: "row", width: -52, cell: ({ row }) => row.name },
  { head: "unit", width: 7, cell: ({ row }) => row.unit },
];
const figureColumns: Readonly<Record<Subject, Column>> = {
  floor: { head: "floor", width: 9, cell: ({ figures }) => figure(figures.floor) },
  ours: { head: "ours", width: 9, cell: ({ figures }) => figure(figures.ours) },
  before: { head: "before", width: 9, cell: ({ figures }) => figure(figures.before) },
  peer: { head: "@a2a-js/sdk", width: 13, cell: ({ figures }) => figure(figures.peer) },
  go: { head: "a2a-go", width: 9, cell: ({ figures }) => figure(figures.go) },
};
const ratioColumns: PerSubject<Column> = {
  floor: { head: "× floor", width: 8, cell: ({ figures }) => figure(figures.over?.floor?.ratio) },
  before: { head: "× before (95 %)", width: 22, cell: ({ figures }) => withInterval(figures.over?.before) },
  peer: { head: "× peer", width: 8, cell: ({ figures }) => figure(figures.over?.peer?.ratio) },
  go: { head: "× go", width: 8, cell: ({ figures }) => figure(figures.over?.go?.ratio) },
};

/** The table of a run that measures these sides: its head, and the line of a row. */
export function tableOf(subjects: readonly Subject[]): { readonly head: string; line(result: Result): string } {
  const ratios = subjects.flatMap((subject) => ratioColumns[subject] ?? []);
  const columns = [...rowColumns, ...subjects.map((subject) => figureColumns[subject]), ...ratios];
  const joinCells = (cell: (column: Column) => string, last: string): string =>
    `${columns.map((column) => padCell(cell(column), column.width)).join(" ")}  ${last}`;
  return {
    head: joinCells(({ head }) => head, "budget"),
    line: (result) => joinCells(({ cell }) => cell(result), remark(result)),
  };
}

/** What was held against its budget. A budget of a side that the run leaves out goes unsaid. */
function remark({ verdicts, error }: Result): string {
  if (error !== undefined) return `failed: ${error}`;
  const shownVerdicts = verdicts.filter(({ verdict, reason }) => verdict !== "not measured" || reason !== undefined);
  return shownVerdicts.map(summary).join("; ");
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
  const { over, noBefore, ...best } = figures;
  return {
    name: row.name,
    unit: row.unit,
    what: row.what,
    ...best,
    ratio: over,
    ...(noBefore === undefined ? {} : { noBefore }),
    budget: verdicts,
    verdict: error === undefined ? overall(verdicts) : "failed",
    ...(error === undefined ? {} : { error }),
  };
}

function overall(verdicts: readonly Verdict[]): Verdict["verdict"] {
  const worst = (["missed", "not measured", "unclear"] as const).find((one) =>
    verdicts.some(({ verdict }) => verdict === one),
  );
  return worst ?? "ok";
}

function summary({ budget, measured, verdict, reason }: Verdict): string {
  if (reason !== undefined) return `${budget} ${verdict}: ${reason.split("\n", 1)[0]}`;
  return verdict === "missed" ? `${budget} MISSED (${figure(measured)})` : `${budget} ${verdict}`;
}

function withInterval(over: Ratio | undefined): string {
  const { ratio, interval }: Partial<Ratio> = over ?? {};
  if (ratio === undefined || interval === undefined) return figure(ratio);
  return `${ratio.toFixed(3)} (${interval.low.toFixed(3)}–${interval.high.toFixed(3)})`;
}

/** A negative width keeps the text to the left. */
function padCell(text: string, width: number): string {
  return width < 0 ? text.padEnd(-width) : text.padStart(width);
}

function figure(value: number | undefined): string {
  if (value === undefined) return "–";
  return value.toFixed(value === 0 || value >= 1000 ? 0 : value < 1 ? 3 : value < 10 ? 2 : 1);
}
