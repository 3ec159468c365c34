import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { promisify } from "node:util";
import { longestTimerMs } from "../../protocol/async/clock.js";
import { type Finding, findings } from "./finding.js";

/** Maximum number of page errors to show. One damaged page causes many. */
const maxErrors = 10;

const run = promisify(execFile);

// SQLite checks all pages in one call. Only ending its process interrupts it.
const script = `
const { DatabaseSync } = require("node:sqlite");
const [path, max] = process.argv.slice(1);
let errors;
try {
  const database = new DatabaseSync(path, { timeout: 5000 });
  database.exec("pragma query_only = on");
  errors = database.prepare("pragma quick_check(" + max + ")").all().map((row) => String(row.quick_check));
  database.close();
} catch (error) {
  errors = [error.message];
}
console.log(JSON.stringify(errors));
`;

/** Checks all pages of a SQLite file, for a limited time. A server may be running. */
export async function checkPages(path: string, limitMs: number): Promise<Finding> {
  const { ok, warning, failed, skipped } = findings("store pages");
  if (limitMs === 0) return skipped("not checked (--store-check 0s)");
  const size = `${(statSync(path).size / 2 ** 20).toFixed(1)} MiB`;
  const errors = await errorsIn(path, limitMs);
  if (errors === undefined) {
    const seconds = limitMs / 1000;
    return warning(`${size} could not be checked within ${seconds} s`, "allow more time: --store-check 10m");
  }
  if (errors.length === 1 && errors[0] === "ok") return ok(`no damage in ${size}`);
  const lines = errors.flatMap((text) => text.split("\n")).filter((line) => !line.startsWith("***"));
  const shown = lines.slice(0, maxErrors).join("; ");
  const more = lines.length > maxErrors ? `; and ${lines.length - maxErrors} more` : "";
  const remedy = `stop the processes that use it and restore a backup; what is left can be read by sqlite3 ${path} .recover`;
  return failed(`damaged: ${shown}${more}`, remedy);
}

async function errorsIn(path: string, limitMs: number): Promise<readonly string[] | undefined> {
  const args = ["--disable-warning=ExperimentalWarning", "-e", script, path, String(maxErrors)];
  try {
    const { stdout } = await run(process.execPath, args, {
      timeout: Math.min(limitMs, longestTimerMs),
      killSignal: "SIGKILL",
    });
    return JSON.parse(stdout) as readonly string[];
  } catch (error) {
    if (error instanceof Error && "killed" in error && error.killed === true) return undefined;
    throw error;
  }
}
