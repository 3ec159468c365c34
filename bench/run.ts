/**
 * `npm run bench`: prints a table and writes `bench/results/*.json`.
 *
 *     node bench/run.ts [--filter REGEXP] [--sides floor,ours,peer] [--rounds N] [--quick]
 *
 * Leaves with 1 when a row failed or a budget was missed.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Result, tableHead, tableLine, writeResults } from "./report.ts";
import { runRow } from "./rounds.ts";
import { type Figures, type Row, type Side, sides } from "./row.ts";
import { judge } from "./verdict.ts";

const { values } = parseArgs({
  options: {
    filter: { type: "string", default: "" },
    sides: { type: "string", default: sides.join(",") },
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
  },
});
const filter = new RegExp(values.filter, "i");
const wanted = sides.filter((side) => values.sides.split(",").includes(side));
const effort = { rounds: Number(values.rounds ?? (values.quick ? 2 : 5)), quick: values.quick };

installPeers();
const results = await runAll((await allRows()).filter(({ name }) => filter.test(name)));
const file = await writeResults(new URL("results/", import.meta.url), results, { ...effort, sides: wanted });
print(`\nwritten: ${fileURLToPath(file)}`);
if (results.some(({ error, verdicts }) => error ?? verdicts.some(({ verdict }) => verdict === "missed"))) {
  process.exitCode = 1;
}

async function runAll(rows: readonly Row[]): Promise<readonly Result[]> {
  const done = new Map<string, Figures>();
  const results: Result[] = [];
  print(`${tableHead()}\n`);
  for (const row of rows) {
    const result = await measured(row, wanted, done);
    done.set(row.name, result.figures);
    results.push(result);
    print(tableLine(result));
  }
  return results;
}

async function measured(row: Row, wanted: readonly Side[], done: ReadonlyMap<string, Figures>): Promise<Result> {
  try {
    const figures = await runRow(row, wanted, effort);
    return { row, figures, verdicts: judge(row, figures, done) };
  } catch (error) {
    return { row, figures: {}, verdicts: [], error: error instanceof Error ? error.message : String(error) };
  }
}

/** Loaded late: the rows import libraries that `installPeers` may have to install first. */
async function allRows(): Promise<readonly Row[]> {
  const { unaryRows } = await import("./rows/unary.ts");
  const { chunkRows } = await import("./rows/chunk.ts");
  const { firstEventRows } = await import("./rows/first-event.ts");
  const { subscriberRows } = await import("./rows/subscribers.ts");
  const { openStreamsRows } = await import("./rows/open-streams.ts");
  const { listTasksRows } = await import("./rows/list-tasks.ts");
  const { startRows } = await import("./rows/start.ts");
  const { clientRows } = await import("./rows/client.ts");
  const { durableRows } = await import("./rows/durable.ts");
  const { millionRows } = await import("./rows/million.ts");
  const { replicaRows } = await import("./rows/replicas.ts");
  const made = [
    unaryRows,
    chunkRows,
    firstEventRows,
    subscriberRows,
    openStreamsRows,
    listTasksRows,
    startRows,
    clientRows,
    durableRows,
    millionRows,
    replicaRows,
  ];
  return made.flatMap((rows) => rows(effort));
}

/** The peer and its libraries have a package of their own, so that a clone pays for them only when it measures. */
function installPeers(): void {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  if (!["@a2a-js/sdk", "better-sqlite3"].every((name) => existsSync(`${folder}node_modules/${name}`))) {
    execFileSync("npm", ["ci", "--prefix", folder, "--no-audit", "--no-fund"], { stdio: "inherit" });
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
