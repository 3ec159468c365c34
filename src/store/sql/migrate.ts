import { sql } from "kysely";
import { noop } from "../../protocol/async/noop.js";
import { readErrorMessage } from "../../protocol/errors.js";
import { isObject } from "../../protocol/kinds.js";
import type { DbContext } from "./dialect.js";
import type { ReportMigration } from "./migration-report.js";
import { migrations, schemaTable } from "./migrations.js";
import { StoreError } from "./store-error.js";

/** The schema of a database, and what this release would change. */
export interface SchemaStatus {
  /** 0 for a database without Trivium's tables. */
  readonly version: number;
  readonly latest: number;
  readonly pending: readonly { readonly version: number; readonly name: string }[];
}

const latest = migrations.at(-1)?.version ?? 0;

export async function schemaStatus(context: DbContext): Promise<SchemaStatus> {
  const version = await readVersion(context);
  return { version, latest, pending: stepsAfter(version).map(({ version, name }) => ({ version, name })) };
}

/**
 * Migrates the tables in one transaction without a time limit, and returns the version before. Several processes may
 * start at once. Rejects for tables of a newer release.
 */
export async function migrate(context: DbContext, report: ReportMigration = noop): Promise<number> {
  const version = await readVersion(context);
  checkVersion(version);
  // Takes no lock and writes nothing when there is nothing to do.
  if (version === latest) return version;
  report({ kind: "begun", from: version, to: latest });
  const { db, dialect } = context;
  const before = await dialect.withoutLimits(db, async (transaction) => {
    report({ kind: "waiting" });
    return await takeSteps({ db: transaction, dialect }, report);
  });
  await analyze(context, before);
  report({ kind: "done" });
  return before;
}

/**
 * New tables are skipped: for a table without statistics PostgreSQL expects more rows than for one it has seen empty.
 */
async function analyze({ db, dialect }: DbContext, before: number): Promise<void> {
  if (before === 0 || dialect.analyzeText === undefined) return;
  const text = sql.raw(dialect.analyzeText);
  await dialect.withoutLimits(db, (transaction) => text.execute(transaction));
}

async function takeSteps(within: DbContext, report: ReportMigration): Promise<number> {
  const { db, dialect } = within;
  await dialect.lockMigrations(db);
  await schemaTable(db, dialect).execute();
  const before = await readVersion(within);
  checkVersion(before);
  for (const { version, name, statements: listStatements } of stepsAfter(before)) {
    const statements = listStatements(db, dialect);
    for (const [index, statement] of statements.entries()) {
      report({ kind: "statement", schema: version, name, statement: index + 1, statements: statements.length });
      try {
        await statement.execute();
      } catch (error) {
        throw isDuplicate(error) ? incomplete(`schema ${before}, and parts of schema ${version}`, error) : error;
      }
    }
    await db.insertInto("trivium_schema").values({ version, applied_at: dialect.now() }).execute();
  }
  return before;
}

/**
 * The statements of all steps after `after`, to be run by hand, in one transaction. Each step ends with its record, which
 * the database refuses unless the previous step has one. Shells may continue after a failed statement: PostgreSQL then
 * commits nothing, and the SQLite dialect joins the statements so that its shell stops.
 */
export function migrationSql({ db, dialect }: DbContext, after = 0): string {
  const statements = stepsAfter(after).flatMap((step) => [
    ...step.statements(db, dialect).map((statement) => statement.compile().sql),
    recordSql(step.version, dialect.nowText),
  ]);
  if (statements.length === 0) return "";
  const first = schemaTable(db, dialect).compile().sql;
  const last = after === 0 || dialect.analyzeText === undefined ? [] : [dialect.analyzeText];
  return dialect.joinScript(["begin", first, ...statements, "commit", ...last]);
}

// Unless the previous step is the last one recorded, the time is null, and the column refuses it.
function recordSql(version: number, nowText: string): string {
  return `insert into "trivium_schema" ("version", "applied_at") select ${version}, case when coalesce(max("version"), 0) = ${version - 1} then ${nowText} end from "trivium_schema"`;
}

function stepsAfter(version: number) {
  return migrations.filter((step) => step.version > version);
}

async function readVersion({ db, dialect }: DbContext): Promise<number> {
  // Read the tasks first: another process may migrate meanwhile, and creates both tables in one transaction.
  const hasTasks = await dialect.hasTable(db, "trivium_tasks");
  const version = (await dialect.hasTable(db, "trivium_schema")) ? await lastVersion(db) : 0;
  if (version === 0 && hasTasks) throw incomplete("tables and no schema version");
  return version;
}

async function lastVersion(db: DbContext["db"]): Promise<number> {
  const row = await db
    .selectFrom("trivium_schema")
    .select(sql<number | null>`max(version)`.as("version"))
    .executeTakeFirst();
  return row?.version ?? 0;
}

/** The error for parts of a schema: SQL was run by hand, and SQLite's shell continues after an error. */
function incomplete(parts: string, cause?: unknown): StoreError {
  const detail = cause === undefined ? "" : ` (${readErrorMessage(cause)})`;
  return new StoreError(
    "incomplete",
    `the database has ${parts}${detail}: SQL that was run by hand has failed in part. Restore the backup from before, or delete a database that has no tasks yet; then run trivium db migrate`,
    { cause },
  );
}

/** Recognized by the codes of PostgreSQL and the texts of SQLite, which has no codes for it. */
function isDuplicate(error: unknown): boolean {
  if (isObject(error) && "code" in error && /^42(?:P07|701|710)$/.test(String(error.code))) {
    return true;
  }
  return /\balready exists\b|already another table|^duplicate column name/.test(readErrorMessage(error));
}

function checkVersion(version: number): void {
  if (version <= latest) return;
  throw new StoreError(
    "unusable",
    `the database has schema ${version}, this release knows up to ${latest}: use a newer release of trivium`,
  );
}
