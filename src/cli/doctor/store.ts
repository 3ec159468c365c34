import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { promisify } from "node:util";
import { longestTimerMs } from "../../protocol/async/clock.js";
import type { ConnectionReport } from "../../store/postgres/connection-report.js";
import type { StoreFailure } from "../../store/sql/store-error.js";
import { type DatabaseLocation, locationText, type StoreLocation, UnusableStoreError } from "../store-location.js";
import { describeCause, type Finding, findings } from "./finding.js";

/** Largest difference of the clocks without a warning: signatures, tokens and leases depend on the time. */
const clockWarningMs = 2000;
const clockFailedMs = 60_000;

/**
 * Checks that a database is reachable and has the schema of this release, about the same time, leases of one length, and
 * no damaged pages. `pagesMs`: time limit for the check of the pages.
 */
export async function checkStore(location: StoreLocation, pagesMs: number): Promise<readonly Finding[]> {
  const reach = findings("store");
  if (location.kind === "memory") return [reach.skipped("tasks are kept in memory and are lost with the process")];
  const databases = await import("../databases.js");
  const found: Finding[] = [];
  try {
    const { version, latest, pending } = await databases.status(location);
    found.push(reach.ok(`${locationText(location)} is reachable`));
    if (location.kind === "postgres") found.push(...connectionFindings(await databases.connectionReport(location)));
    found.push(schemaFinding(version, latest, pending.length));
    if (location.kind === "sqlite") found.push(await checkPages(location.path, pagesMs));
    else found.push(await clockFinding(() => databases.clockOffset(location)));
    if (version === latest) found.push(...leasesFinding(await databases.leaseLengths(location)));
  } catch (error) {
    const failure = error instanceof UnusableStoreError ? error.failure : undefined;
    found.push(reach.failed(describeCause(error), findRemedy(location, failure)));
  }
  return found;
}

function findRemedy({ kind }: DatabaseLocation, failure: StoreFailure = "other"): string | undefined {
  // The error of an unusable PostgreSQL has its own remedy.
  if (failure === "unusable" && kind === "postgres") return undefined;
  return ofKind[kind][failure] ?? remedies[failure] ?? reachRemedies[kind];
}

const reachRemedies = {
  sqlite: "check the path; trivium db migrate creates the file",
  postgres: "check address, user and password, and that the database accepts connections from this machine",
} as const;

type Remedies = Readonly<Partial<Record<StoreFailure, string>>>;

const ofKind: Readonly<Record<keyof typeof reachRemedies, Remedies>> = {
  sqlite: { readOnly: "let this user write to the database and its folder" },
  postgres: {
    readOnly: "connect to the primary, and not to a standby or with default_transaction_read_only",
    forbidden:
      "grant the role USAGE of the schema, and SELECT, INSERT, UPDATE and DELETE on its tables; trivium db migrate needs their owner",
  },
};

const remedies: Remedies = {
  damaged: "check the path; if it is the right one, restore a backup",
  locked: "find the connection that holds the lock, and end it",
  incomplete: "restore the backup from before, or delete a database that has no tasks yet",
  full: "make room on the disk",
};

const connections: Readonly<Record<ConnectionReport["mode"], string>> = {
  direct: "connections have sessions of their own",
  session: "through a pooler in session mode: each connection of a process keeps one of the pooler's",
  transaction:
    "through a pooler in transaction mode: no hints without directUrl, no prepared statements without prepare: true",
};

// A pooler in transaction mode takes no time limit from its clients, so the role needs one.
function connectionFindings({ mode, role, database, statementTimeoutMs, left }: ConnectionReport): readonly Finding[] {
  const connection = findings("store connection").ok(connections[mode]);
  if (mode !== "transaction") return [connection];
  const limits = findings("store limits");
  const set = `alter role ${role} in database ${database} set statement_timeout = '30s'`;
  return [
    connection,
    statementTimeoutMs > 0
      ? limits.ok(`statements of the role ${role} end after ${statementTimeoutMs / 1000} s`)
      : limits.warning(
          `statements of the role ${role} have no time limit, and this pooler takes none from the store`,
          set,
        ),
    ...(left.length === 0 ? [] : [leftFinding(left)]),
  ];
}

function leftFinding(left: readonly string[]): Finding {
  const seen = `other clients of the pooler have left their ${left.join(", ")} in its sessions`;
  return findings("store sessions").warning(
    seen,
    "let them use SET LOCAL, or set the values for their roles; then let the pooler reconnect",
  );
}

function schemaFinding(version: number, latest: number, pendingCount: number): Finding {
  const { ok, failed } = findings("store schema");
  if (version > latest) {
    const versions = `version ${version}, this release knows ${latest}`;
    return failed(versions, "install the release that migrated the database, or a newer one");
  }
  if (pendingCount === 0) return ok(`version ${version}`);
  const versions =
    version === 0 ? "the database has no tables yet" : `version ${version}, this release needs ${latest}`;
  return failed(versions, "back the database up, then run trivium db migrate");
}

// Nothing is found where no process uses the store.
function leasesFinding(lengths: readonly number[]): readonly Finding[] {
  if (lengths.length === 0) return [];
  const { ok, warning } = findings("store leases");
  const sorted = lengths.toSorted((a, b) => a - b);
  const texts = sorted.map((ms) => `${ms / 1000} s`).join(", ");
  if (lengths.length === 1) return [ok(`processes on the store have leases of ${texts}`)];
  const remedy = "give all of them the same instanceTtlMs, or tasks of one that lives may be taken over";
  return [warning(`processes on the store have leases of different length: ${texts}`, remedy)];
}

async function clockFinding(offset: () => Promise<number>): Promise<Finding> {
  return offsetFinding("store clock", await offset(), "the database");
}

/** The finding about two clocks. `offsetMs`: how far the clock of this machine is ahead of the other's. */
export function offsetFinding(check: string, offsetMs: number, of: string): Finding {
  const { ok, warning, failed } = findings(check);
  const seconds = (Math.abs(offsetMs) / 1000).toFixed(1);
  const difference = `this machine is ${seconds} s ${offsetMs < 0 ? "behind" : "ahead of"} ${of}`;
  if (Math.abs(offsetMs) < clockWarningMs) return ok(difference);
  const remedy = "synchronize both clocks by NTP; tokens and leases depend on them";
  return (Math.abs(offsetMs) < clockFailedMs ? warning : failed)(difference, remedy);
}

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
async function checkPages(path: string, limitMs: number): Promise<Finding> {
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
