import type { Store } from "../../core/ports.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { createSqlStore, type SqlStoreOptions } from "../sql/task-store.js";
import { resolveSettings, type SqliteFileOptions } from "./database.js";
import { requireSqlite } from "./node-sqlite.js";
import { createRemoteBackend } from "./remote-backend.js";
import { createDatabaseThread } from "./thread.js";

export type { Store } from "../../core/ports.js";
export type { RetentionOptions } from "../sql/maintenance.js";
export { StoreError, type StoreFailure } from "../sql/store-error.js";
export type { SqlStoreOptions } from "../sql/task-store.js";
export type { SqliteFileOptions } from "./database.js";

/** Where the tasks lie, and how they are kept. */
export interface SqliteStoreOptions extends SqliteFileOptions, SqlStoreOptions {}

/**
 * Keeps tasks and push configurations in a file of SQLite, in a thread of its own. The file is opened, and brought up to
 * date, by `open()` or the first call; the thread does not keep the process alive. Several processes of one machine may
 * use one file; none may lie on a network drive. Calls reject with a `StoreError` when the file cannot be used, and work
 * again when the cause has gone. Throws one where Node has no SQLite: it has from 22.13 on.
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  requireSqlite();
  const { clock } = options;
  const now = clock === undefined || clock === systemClock ? undefined : () => clock.now();
  const thread = createDatabaseThread({ settings: resolveSettings(options), now });
  return createSqlStore(createRemoteBackend(thread), options);
}
