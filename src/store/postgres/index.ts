import type { Store } from "../../core/ports.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { assertOptions, flag, type MembersOf, object, string, whole } from "../../protocol/check/rules.js";
import { sqlMembers } from "../sql/option-rules.js";
import { createSqlStore, type SqlStoreOptions } from "../sql/task-store.js";
import { createStoreLogger } from "../store-logger.js";
import { openPostgres } from "./database.js";
import { type PostgresConnectOptions, resolveConnect } from "./settings.js";
import { postgresSignals } from "./signals.js";

// Entry `trivium/postgres`: a SQL store that processes share, with hints by LISTEN and NOTIFY.

export type { Store } from "../../core/ports.js";
export type { RetentionOptions } from "../sql/maintenance.js";
export { StoreError, type StoreFailure } from "../sql/store-error.js";
export type { SqlStoreOptions } from "../sql/task-store.js";
export type { PostgresConnectOptions } from "./settings.js";

/** Options of a PostgreSQL store. */
export interface PostgresStoreOptions extends PostgresConnectOptions, SqlStoreOptions {
  /**
   * Whether processes send each other hints by LISTEN and NOTIFY, over one additional connection. Without hints they
   * poll once a second. Default: `true`, unless `sessions` is `false`.
   */
  readonly hints?: boolean | undefined;
}

const postgresRule = object({
  ...sqlMembers,
  url: { rule: string, missing: "give postgres://user:password@host:port/database" },
  pool: { rule: object({ max: { rule: whole(1) } }) },
  sessions: { rule: flag },
  connectTimeoutMs: { rule: whole(1) },
  statementTimeoutMs: { rule: whole(1) },
  hints: { rule: flag },
} satisfies MembersOf<PostgresStoreOptions>);

/**
 * Stores tasks and push configurations in a PostgreSQL database (12 or later), for one process or several. Needs the
 * package `pg`. `open()` or the first call connects and migrates the tables. Connections do not keep the process alive.
 * Calls reject with a `StoreError` while the database is unreachable, and work again afterwards. Throws a `TypeError`
 * for wrong options.
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  assertOptions("postgresStore()", options, postgresRule);
  const { clock = systemClock } = options;
  const logger = createStoreLogger(options.logger);
  const connect = resolveConnect(options);
  const { hints = connect.sessions } = options;
  if (hints && !connect.sessions) throw new TypeError("hints need sessions: remove `hints: true` or `sessions: false`");
  // Processes on one database share its clock.
  const { backend, rates } = openPostgres(options, clock === systemClock ? undefined : () => clock.now());
  const store = createSqlStore(backend, options, logger);
  if (!hints) return { ...store, shared: true, rates };
  const signals = postgresSignals({ ...connect, clock: systemClock, logger });
  return {
    ...store,
    shared: true,
    rates,
    signals,
    async close() {
      await Promise.all([store.close(), signals.close()]);
    },
  };
}
