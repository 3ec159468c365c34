import type { StoreFailure } from "../../store/sql/store-error.js";
import { locationText, type StoreLocation, UnusableStoreError } from "../store-location.js";
import { type Finding, findings, reasonOf } from "./finding.js";
import { checkPages } from "./pages.js";

/** Largest difference of the clocks without a warning: signatures, tokens and leases depend on the time. */
const clockWarningMs = 2000;
const clockFailedMs = 60_000;

/**
 * Checks that a database is reachable, has the schema of this release and about the same time, leases of one length, and
 * no damaged pages. `pagesMs`: how long the pages may take.
 */
export async function checkStore(location: StoreLocation, pagesMs: number): Promise<readonly Finding[]> {
  const reach = findings("store");
  if (location.kind === "memory") return [reach.skipped("tasks are kept in memory and are lost with the process")];
  const databases = await import("../db/databases.js");
  const found: Finding[] = [];
  try {
    const { version, latest, pending } = await databases.status(location);
    found.push(reach.ok(`${locationText(location)} is reachable`), schemaFinding(version, latest, pending.length));
    if (location.kind === "sqlite") found.push(await checkPages(location.path, pagesMs));
    else found.push(await clockFinding(() => databases.clockOffset(location)));
    if (version === latest) found.push(...leasesFinding(await databases.leaseLengths(location)));
  } catch (error) {
    const failure = error instanceof UnusableStoreError ? error.failure : undefined;
    found.push(reach.failed(reasonOf(error), remedies[failure ?? "other"] ?? reachRemedies[location.kind]));
  }
  return found;
}

const reachRemedies = {
  sqlite: "check the path; trivium db migrate creates the file",
  postgres: "check address, user and password, and that the database accepts connections from this machine",
} as const;

const remedies: Readonly<Partial<Record<StoreFailure, string>>> = {
  damaged: "check the path; if it is the right one, restore a backup",
  locked: "find the connection that holds the lock, and end it",
  incomplete: "restore the backup from before, or delete a database that has no tasks yet",
  readOnly: "let this user write to the database and its folder",
  full: "make room on the disk",
};

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
