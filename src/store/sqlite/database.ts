import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { Kysely } from "kysely";
import type { SqlDialect } from "../sql/dialect.js";
import { createKyselyBackend } from "../sql/kysely-backend.js";
import type { Backend } from "../sql/rows.js";
import type { Database } from "../sql/schema.js";
import { StoreError, storeErrorFrom } from "../sql/store-error.js";
import { sqliteDialect } from "./dialect.js";
import { createSqliteConnection, kyselyDialect, type SqliteConnection } from "./driver.js";
import { createHotPath, type SqliteHotPath } from "./flush.js";
import { loadSqlite } from "./node-sqlite.js";
import { resolveSettings, type SqliteFileOptions, type SqliteSettings } from "./settings.js";

/** A SQLite file open in this thread. */
export interface SqliteDatabase {
  readonly backend: Backend;
  readonly connection: SqliteConnection;
  readonly db: Kysely<Database>;
  readonly dialect: SqlDialect;
  readonly hot: SqliteHotPath;
  close(): Promise<void>;
}

/** Opens the file; `backend.open()` checks its tables. `now`: the store's clock. */
export function openSqlite(settings: SqliteSettings, now: () => number): SqliteDatabase {
  const connection = createSqliteConnection(connect(settings));
  const db = new Kysely<Database>({ dialect: kyselyDialect(connection) });
  const dialect = sqliteDialect(now, connection);
  const hot = createHotPath(connection, now);
  const backend = createKyselyBackend({ db, dialect, hot });
  return { backend, connection, db, dialect, hot, close: () => db.destroy() };
}

/** A database used in this thread, one write at a time: for tools, where latency does not matter. */
export function localSqliteBackend(options: SqliteFileOptions, now: () => number = Date.now): Backend {
  return openSqlite(resolveSettings(options), now).backend;
}

function connect(settings: SqliteSettings): DatabaseSync {
  const { path, busyTimeoutMs } = settings;
  const { DatabaseSync } = loadSqlite();
  try {
    if (path !== ":memory:" && !path.startsWith("file:")) mkdirSync(dirname(path), { recursive: true });
    const database = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: false });
    try {
      for (const pragma of pragmas(settings)) database.exec(`pragma ${pragma}`);
      limitSize(database, settings.maxBytes);
    } catch (error) {
      database.close();
      throw error;
    }
    return database;
  } catch (error) {
    const { failure, message } = asStoreError(error);
    throw new StoreError(failure, `${path}: ${message}`, { cause: error });
  }
}

const mebibyte = 2 ** 20;

function pragmas({ synchronous }: SqliteSettings): readonly string[] {
  return [
    "journal_mode = wal",
    `synchronous = ${synchronous}`,
    "temp_store = memory",
    // In KiB. Heads, indexes and pending writes stay in memory, however large the file.
    "cache_size = -65536",
    // Frequently rewritten pages, such as those of heads, are checkpointed once per 16 MiB of commits.
    "wal_autocheckpoint = 4000",
    `journal_size_limit = ${64 * mebibyte}`,
  ];
}

function limitSize(database: DatabaseSync, maxBytes: number | undefined): void {
  if (maxBytes === undefined) return;
  const pageSize = Number(database.prepare("pragma page_size").get()?.["page_size"]);
  database.exec(`pragma max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
}

function asStoreError(error: unknown): { readonly failure: StoreError["failure"]; readonly message: string } {
  const storeError = storeErrorFrom(error);
  return { failure: storeError instanceof StoreError ? storeError.failure : "other", message: storeError.message };
}
