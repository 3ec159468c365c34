import type { Store } from "../../core/ports.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { assertOptions, type MembersOf, object, oneOf, text, whole } from "../../protocol/check/rules.js";
import { sqlMembers } from "../sql/option-rules.js";
import { createSqlStore, type SqlStoreOptions } from "../sql/task-store.js";
import { requireSqlite } from "./node-sqlite.js";
import { createRemoteBackend } from "./remote-backend.js";
import { resolveSettings, type SqliteFileOptions } from "./settings.js";
import { DatabaseThread } from "./thread.js";

// Entry `trivium/sqlite`: a SQL store in a worker thread, which commits concurrent writes together.

export type { Store } from "../../core/ports.js";
export type { RetentionOptions } from "../sql/maintenance.js";
export { StoreError, type StoreFailure } from "../sql/store-error.js";
export type { SqlStoreOptions } from "../sql/task-store.js";
export type { SqliteFileOptions } from "./settings.js";

/** Options of a SQLite store. */
export interface SqliteStoreOptions extends SqliteFileOptions, SqlStoreOptions {}

const sqliteRule = object({
  ...sqlMembers,
  path: { rule: text, missing: 'give a file, or ":memory:"' },
  synchronous: { rule: oneOf("FULL", "NORMAL") },
  busyTimeoutMs: { rule: whole(0) },
  maxBytes: { rule: whole(1) },
} satisfies MembersOf<SqliteStoreOptions>);

/**
 * Stores tasks and push configurations in a SQLite file, in a separate thread. `open()` or the first call opens and
 * migrates the file; the thread does not keep the process alive. Several processes on one machine may share a file, but
 * not on a network drive. Calls reject with a `StoreError` while the file cannot be used, and succeed again afterwards.
 * Throws a `TypeError` for wrong options, and a `StoreError` if Node has no SQLite (before 22.13).
 *
 * @example
 * ```ts
 * const store = sqliteStore({ path: "data/tasks.db" });
 * const server = await serve({ card, agent, store });
 * process.once("SIGTERM", async () => {
 *   await server.close();
 *   await store.close();
 * });
 * ```
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  assertOptions("sqliteStore()", options, sqliteRule);
  requireSqlite();
  const { clock } = options;
  const now = clock === undefined || clock === systemClock ? undefined : () => clock.now();
  const thread = new DatabaseThread({ settings: resolveSettings(options), now });
  return createSqlStore(createRemoteBackend(thread), options);
}
