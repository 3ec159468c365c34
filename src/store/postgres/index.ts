import type { Store } from "../../core/ports.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { createSqlStore, type SqlStoreOptions } from "../sql/task-store.js";
import { openPostgres, type PostgresConnectOptions, resolveConnect } from "./database.js";
import { postgresSignals } from "./signals.js";

export type { Store } from "../../core/ports.js";
export type { RetentionOptions } from "../sql/maintenance.js";
export { StoreError, type StoreFailure } from "../sql/store-error.js";
export type { SqlStoreOptions } from "../sql/task-store.js";
export type { PostgresConnectOptions } from "./database.js";

/** Where the tasks lie, and how they are reached. */
export interface PostgresStoreOptions extends PostgresConnectOptions, SqlStoreOptions {
  /**
   * Whether processes tell each other by LISTEN and NOTIFY what has happened, on one connection more. Without hints they
   * find out by asking, once a second. Default: `true`, unless `sessions` is `false`.
   */
  readonly hints?: boolean | undefined;
}

/**
 * Keeps tasks and push configurations in a PostgreSQL database (12 or later), for one process or several at once. Needs
 * the package `pg`. The database is opened, and its tables are brought up to date, by `open()` or the first call; its
 * connections do not keep the process alive. Calls reject with a `StoreError` when it cannot be reached, and work again
 * when the cause has gone.
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  const { clock = systemClock, logger } = options;
  const connect = resolveConnect(options);
  const { hints = connect.sessions } = options;
  if (hints && !connect.sessions) throw new TypeError("hints need sessions: leave one of them out");
  // The processes on one database have one clock: its own.
  const { backend } = openPostgres(options, clock === systemClock ? undefined : () => clock.now());
  const store = createSqlStore(backend, options);
  if (!hints) return { ...store, shared: true };
  const signals = postgresSignals({ ...connect, clock: systemClock, logger });
  return {
    ...store,
    shared: true,
    signals,
    async close() {
      await Promise.all([store.close(), signals.close()]);
    },
  };
}
