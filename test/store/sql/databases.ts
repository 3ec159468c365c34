import { sql } from "kysely";
import { openPostgres } from "../../../src/store/postgres/database.js";
import type { DbContext } from "../../../src/store/sql/dialect.js";
import { migrations, schemaTable } from "../../../src/store/sql/migrations.js";
import type { Backend } from "../../../src/store/sql/rows.js";
import { hasPostgres, sharedPostgres } from "../../support/postgres.js";
import { openUnopened } from "./database.js";

/** A database of one of the two kinds, with an unopened backend. */
export interface TestDatabase {
  readonly context: DbContext;
  readonly backend: Backend;
}

/** A kind of database. */
export interface DatabaseKind {
  readonly name: string;
  readonly skipped: boolean;
  make(now: () => number): Promise<TestDatabase>;
}

export function databaseKinds(): readonly DatabaseKind[] {
  return [
    {
      name: "SQLite",
      skipped: false,
      make: async (now) => openUnopened(":memory:", now),
    },
    {
      name: "PostgreSQL",
      skipped: !hasPostgres,
      async make(now) {
        const server = await sharedPostgres();
        const { db, dialect, backend } = openPostgres({ url: await server.createDatabase() }, now);
        return { context: { db, dialect }, backend };
      },
    },
  ];
}

/** Creates the tables of a release that knew only the first `version` migrations. */
export async function migrateUpTo({ db, dialect }: DbContext, version: number): Promise<void> {
  await schemaTable(db, dialect).execute();
  for (const step of migrations.slice(0, version)) {
    for (const statement of step.statements(db, dialect)) await statement.execute();
    await db.insertInto("trivium_schema").values({ version: step.version, applied_at: 0 }).execute();
  }
}

/** Returns all rows of a query. */
export async function rowsOf<T>({ db }: DbContext, text: string): Promise<readonly T[]> {
  return (await sql.raw<T>(text).execute(db)).rows;
}
