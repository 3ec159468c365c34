import { existsSync } from "node:fs";
import { systemClock } from "../protocol/async/system-clock.js";
import type { ConnectionReport } from "../store/postgres/connection-report.js";
import type { DbContext } from "../store/sql/dialect.js";
import { databaseTime } from "../store/sql/dialect.js";
import { type PruneTotals, prune as pruneAll } from "../store/sql/maintenance.js";
import { migrate as migrateAll, migrationSql, type SchemaStatus, schemaStatus } from "../store/sql/migrate.js";
import { createMigrationReport } from "../store/sql/migration-report.js";
import { renewIncarnations } from "../store/sql/renew.js";
import type { Backend, Retention } from "../store/sql/rows.js";
import { storeErrorFrom } from "../store/sql/store-error.js";
import { resolveSettings } from "../store/sqlite/settings.js";
import { type DatabaseLocation, type PostgresLocation, unusableStoreError } from "./store-location.js";

/** The schema of a database. Rejects if its file is missing. */
export function status(location: DatabaseLocation): Promise<SchemaStatus> {
  return useDatabase(location, "existing", ({ db, dialect }) => schemaStatus({ db, dialect }));
}

/** How far the clock of this machine is ahead of the database's, in milliseconds. */
export function clockOffset(location: DatabaseLocation): Promise<number> {
  return useDatabase(location, "existing", async (context) => {
    await databaseTime(context);
    const begin = Date.now();
    const time = await databaseTime(context);
    return (begin + Date.now()) / 2 - time;
  });
}

/** How connections reach the sessions of a PostgreSQL server. */
export async function connectionReport({ url }: PostgresLocation): Promise<ConnectionReport> {
  const { reportConnection } = await import("../store/postgres/connection-report.js");
  return await reportConnection({ url }).catch((error: unknown) => {
    throw unusableStoreError({ kind: "postgres", url }, storeErrorFrom(error));
  });
}

/** For how long the processes that use a database now have leases, each length in milliseconds once. */
export function leaseLengths(location: DatabaseLocation): Promise<readonly number[]> {
  return useDatabase(location, "existing", async (database) => {
    await openUnlessOld(database);
    return database.backend.otherTtls(0);
  });
}

/** Migrates the schema, or creates it along with the file. `say` gets the progress of a long migration. */
export function migrate(location: DatabaseLocation, say: (line: string) => void): Promise<SchemaStatus> {
  return useDatabase(location, "any", async ({ db, dialect }) => {
    const migration = createMigrationReport({
      clock: systemClock,
      report: (line, { seconds }) => (seconds < 1 ? undefined : say(line)),
    });
    try {
      await migrateAll({ db, dialect }, migration.report);
    } finally {
      migration.end();
    }
    return schemaStatus({ db, dialect });
  });
}

/** Deletes records past their retention. Rejects if the schema is of another release. */
export function prune(location: DatabaseLocation, retention: Retention): Promise<PruneTotals> {
  return useDatabase(location, "existing", async (database) => {
    await openUnlessOld(database);
    return pruneAll(database.backend, retention);
  });
}

/** Invalidates old event ids in a database restored to an earlier state. Returns the number of affected tasks. */
export function renewEventIds(location: DatabaseLocation): Promise<{ readonly tasks: number }> {
  return useDatabase(location, "existing", async (database) => {
    await openUnlessOld(database);
    return { tasks: await renewIncarnations(database) };
  });
}

async function openUnlessOld({ db, dialect, backend }: OpenDatabase): Promise<void> {
  const { version, latest } = await schemaStatus({ db, dialect });
  // A server of the release that created it may be running.
  if (version < latest) {
    throw new Error(`the database has schema ${version}, this release needs ${latest}: run trivium db migrate`);
  }
  await backend.open();
}

/** The SQL of all steps after a version. Needs no database. */
export async function sql(kind: DatabaseLocation["kind"], after: number): Promise<string> {
  const nowhere: DatabaseLocation =
    kind === "sqlite" ? { kind, path: ":memory:" } : { kind, url: "postgres://127.0.0.1/nowhere" };
  const { db, dialect, backend } = await open(nowhere);
  const text = migrationSql({ db, dialect }, after);
  await backend.close();
  return text;
}

interface OpenDatabase extends DbContext {
  readonly backend: Backend;
}

async function useDatabase<T>(
  location: DatabaseLocation,
  files: "existing" | "any",
  run: (database: OpenDatabase) => Promise<T>,
): Promise<T> {
  try {
    if (files === "existing" && location.kind === "sqlite" && !existsSync(location.path)) {
      throw new Error("there is no such file");
    }
    const database = await open(location);
    try {
      return await run(database);
    } catch (error) {
      throw storeErrorFrom(error);
    } finally {
      await database.backend.close();
    }
  } catch (error) {
    throw unusableStoreError(location, error);
  }
}

// Database code is loaded only when needed.
async function open(location: DatabaseLocation): Promise<OpenDatabase> {
  if (location.kind === "sqlite") {
    const { openSqlite } = await import("../store/sqlite/database.js");
    return openSqlite(resolveSettings({ path: location.path }), Date.now);
  }
  const { openPostgres } = await import("../store/postgres/database.js");
  return openPostgres({ url: location.url });
}
