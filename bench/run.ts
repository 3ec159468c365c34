/**
 * `npm run bench`: prints a table and writes `bench/results/*.json`.
 *
 *     node bench/run.ts [--filter REGEXP] [--sides floor,ours,peer,go] [--rounds N] [--quick] [--before DIST]
 *
 * `--before` measures ours beside the build in the folder DIST, and others only when `--sides` names them. A row then fails
 * when the whole 95 % interval of what ours is as a multiple of that build lies above 1.03.
 *
 * Rows whose load comes from Go are left out of a run on a machine without Go.
 *
 * Leaves with 1 when a row failed or a budget was missed.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { besideBuild, buildAt } from "./builds.ts";
import { optionsOf } from "./options.ts";
import { type Result, tableOf, writeResults } from "./report.ts";
import { runRow } from "./rounds.ts";
import type { Figures, Row } from "./row.ts";
import { judge } from "./verdict.ts";

const { filter, sides: wanted, before, effort } = optionsOf(process.argv.slice(2));
const build = before === undefined ? undefined : buildAt(before);

if (wanted.includes("peer")) installPeers();
const rows = (await allRows()).filter(({ name }) => filter.test(name));
const results = await runAll(build === undefined ? rows : rows.map((row) => besideBuild(row, build)));
const options = { ...effort, sides: wanted, before };
const file = await writeResults(new URL("results/", import.meta.url), results, options);
print(`\nwritten: ${fileURLToPath(file)}`);
if (results.some(({ error, verdicts }) => error ?? verdicts.some(({ verdict }) => verdict === "missed"))) {
  process.exitCode = 1;
}

async function runAll(rows: readonly Row[]): Promise<readonly Result[]> {
  const figuresByRow = new Map<string, Figures>();
  const results: Result[] = [];
  const table = tableOf(wanted.filter((subject) => rows.some(({ start }) => start[subject] !== undefined)));
  print(`${table.head}\n`);
  for (const row of rows) {
    if (row.missing !== undefined) {
      print(`${row.name}: left out, since this machine has no ${row.missing}`);
      continue;
    }
    const result = await measureOrReuse(row, figuresByRow);
    figuresByRow.set(row.name, result.figures);
    results.push(result);
    print(table.line(result));
  }
  return results;
}

async function measureOrReuse(row: Row, figuresByRow: ReadonlyMap<string, Figures>): Promise<Result> {
  try {
    const figures = await runRow(row, wanted, effort);
    return { row, figures, verdicts: judge(row, figures, figuresByRow) };
  } catch (error) {
    return { row, figures: {}, verdicts: [], error: error instanceof Error ? error.message : String(error) };
  }
}

/** Loaded late: the rows import libraries that `installPeers` may have to install first. */
async function allRows(): Promise<readonly Row[]> {
  const { unaryRows } = await import("./rows/unary.ts");
  const { chunkRows } = await import("./rows/chunk.ts");
  const { loadFromGoRows } = await import("./rows/load-from-go.ts");
  const { artifactRows } = await import("./rows/artifacts.ts");
  const { shapeRows } = await import("./rows/shapes.ts");
  const { firstEventRows } = await import("./rows/first-event.ts");
  const { subscriberRows } = await import("./rows/subscribers.ts");
  const { openStreamsRows } = await import("./rows/open-streams.ts");
  const { manyAgentsRows } = await import("./rows/many-agents.ts");
  const { listTasksRows } = await import("./rows/list-tasks.ts");
  const { startRows } = await import("./rows/start.ts");
  const { clientRows } = await import("./rows/client.ts");
  const { durableRows } = await import("./rows/durable.ts");
  const { conversationRows } = await import("./rows/conversations.ts");
  const { authRows } = await import("./rows/auth.ts");
  const { rateRows } = await import("./rows/rates.ts");
  const { telemetryRows } = await import("./rows/telemetry.ts");
  const { hostileRows } = await import("./rows/hostile.ts");
  const { millionRows } = await import("./rows/million.ts");
  const { replicaRows } = await import("./rows/replicas.ts");
  const sections = [
    unaryRows,
    chunkRows,
    loadFromGoRows,
    artifactRows,
    shapeRows,
    firstEventRows,
    subscriberRows,
    openStreamsRows,
    manyAgentsRows,
    listTasksRows,
    startRows,
    clientRows,
    durableRows,
    conversationRows,
    millionRows,
    authRows,
    rateRows,
    telemetryRows,
    hostileRows,
    replicaRows,
  ];
  return sections.flatMap((rows) => rows(effort));
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
