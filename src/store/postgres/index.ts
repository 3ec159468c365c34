import type { Store } from "../../core/ports.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { assertOptions, flag, type MembersOf, object, string, whole } from "../../protocol/check/rules.js";
import type { Logger } from "../../protocol/logger.js";
import { sqlMembers } from "../sql/option-rules.js";
import { createSqlStore, type SqlStoreOptions } from "../sql/task-store.js";
import { createStoreLogger } from "../store-logger.js";
import { createPoolerMode } from "./connection.js";
import { openPostgres, type PoolerModes } from "./database.js";
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
   * poll once a second, as they do behind a pooler in transaction mode without `directUrl`. Default: `true`, unless
   * `sessions` is `false` and there is no `directUrl`.
   */
  readonly hints?: boolean | undefined;
}

const postgresRule = object({
  ...sqlMembers,
  url: { rule: string, missing: "give postgres://user:password@host:port/database" },
  pool: { rule: object({ max: { rule: whole(1) } }) },
  sessions: { rule: flag },
  prepare: { rule: flag },
  directUrl: { rule: string },
  connectTimeoutMs: { rule: whole(1) },
  statementTimeoutMs: { rule: whole(1) },
  hints: { rule: flag },
} satisfies MembersOf<PostgresStoreOptions>);

/**
 * Stores tasks and push configurations in a PostgreSQL database (12 or later), for one process or several. Needs the
 * package `pg`. `open()` or the first call connects and migrates the tables. Connections do not keep the process alive.
 * Calls reject with a `StoreError` while the database is unreachable, and succeed again afterwards. Throws a
 * `TypeError` for wrong options.
 *
 * @example
 * ```ts
 * const store = postgresStore({ url: "postgres://agent@db.example/tasks", pool: { max: 10 } });
 * const server = await serve({ card, agent, store });
 * process.once("SIGTERM", async () => {
 *   await server.close();
 *   await store.close();
 * });
 * ```
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  assertOptions("postgresStore()", options, postgresRule);
  const { clock = systemClock } = options;
  const logger = createStoreLogger(options.logger);
  const { direct } = resolveConnect(options);
  const { hints = direct.sessions !== false } = options;
  if (hints && direct.sessions === false) {
    throw new TypeError("hints need sessions: give a directUrl, or remove `hints: true` or `sessions: false`");
  }
  const modes = poolerModes(options, hints, logger);
  // Processes on one database share its clock.
  const { backend, rates } = openPostgres(options, clock === systemClock ? undefined : () => clock.now(), modes);
  const store = createSqlStore(backend, options, logger);
  if (!hints) return { ...store, shared: true, rates };
  const signals = postgresSignals({ ...direct, mode: modes.directMode, clock: systemClock, logger });
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

/** The modes of the poolers, each of which is logged when it is found. */
function poolerModes({ directUrl }: PostgresStoreOptions, hints: boolean, logger: Logger): PoolerModes {
  const polls = "processes poll each other once a second";
  const mode = createPoolerMode((found) => {
    const isWithout = hints && directUrl === undefined && found === "transaction";
    const remedy = isWithout ? `: ${polls}, unless directUrl leads around it` : "";
    logger.info({ mode: found }, `the database is behind a pooler in ${found} mode${remedy}`);
  });
  if (directUrl === undefined) return { mode, directMode: mode };
  const directMode = createPoolerMode((found) => {
    const text = `directUrl leads through a pooler in ${found} mode`;
    if (found === "session" || !hints) logger.info({ mode: found }, text);
    else logger.warn({ mode: found }, `${text}: ${polls}`);
  });
  return { mode, directMode };
}
