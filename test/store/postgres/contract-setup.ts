import { sql } from "kysely";
import type { Store } from "../../../src/core/ports.js";
import type { PostgresDatabase } from "../../../src/store/postgres/database.js";
import { createSqlStore, type SqlStoreOptions } from "../../../src/store/sql/task-store.js";
import { emptyTables } from "../../support/empty-tables.js";

/** A store over connections that the tests of a file share: new ones take longer than most tests. */
export async function emptied({ db, backend }: PostgresDatabase, options: SqlStoreOptions = {}): Promise<Store> {
  await sql.raw(emptyTables).execute(db);
  return createSqlStore({ ...backend, open: async () => {}, close: async () => {} }, options);
}
