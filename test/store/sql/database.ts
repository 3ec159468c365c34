import { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import type { DbContext } from "../../../src/store/sql/dialect.js";
import { createKyselyBackend } from "../../../src/store/sql/kysely-backend.js";
import type { Database } from "../../../src/store/sql/schema.js";
import { sqliteDialect } from "../../../src/store/sqlite/dialect.js";
import { createSqliteConnection, kyselyDialect } from "../../../src/store/sqlite/driver.js";
import { createHotPath } from "../../../src/store/sqlite/flush.js";

/** An empty database in this thread. */
export function openDatabase(path = ":memory:", now: () => number = Date.now) {
  const database = new DatabaseSync(path);
  database.exec("pragma busy_timeout = 10000");
  const connection = createSqliteConnection(database);
  const db = new Kysely<Database>({ dialect: kyselyDialect(connection) });
  const context: DbContext = { db, dialect: sqliteDialect(now, connection) };
  return { database, connection, db, context };
}

/** An unopened backend on such a database. */
export function openUnopened(path = ":memory:", now: () => number = Date.now) {
  const opened = openDatabase(path, now);
  const { connection, db, context } = opened;
  const backend = createKyselyBackend({ db, dialect: context.dialect, hot: createHotPath(connection, now) });
  return { ...opened, backend };
}

/** An open backend on such a database. */
export async function openBackend(path = ":memory:", now: () => number = Date.now) {
  const opened = openUnopened(path, now);
  await opened.backend.open();
  return opened;
}
