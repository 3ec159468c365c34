import type { ConnectionReport } from "../../store/postgres/connection-report.js";
import type { StoreFailure } from "../../store/sql/store-error.js";
import { type DatabaseLocation, locationText, type StoreLocation, UnusableStoreError } from "../store-location.js";
import { type Finding, findings, reasonOf } from "./finding.js";
import { checkPages } from "./pages.js";

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
  const databases = await import("../db/databases.js");
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
    found.push(reach.failed(reasonOf(error), remedyOf(location, failure)));
  }
  return found;
}

function remedyOf({ kind }: DatabaseLocation, failure: StoreFailure = "other"): string | undefined {
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
