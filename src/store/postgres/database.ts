import { Kysely, PostgresDialect } from "kysely";
import type { RateStore } from "../../core/ports.js";
import type { SqlDialect } from "../sql/dialect.js";
import { createKyselyBackend } from "../sql/kysely-backend.js";
import type { Backend } from "../sql/rows.js";
import type { Database } from "../sql/schema.js";
import { createPoolerMode, type PoolerMode } from "./connection.js";
import { postgresDialect } from "./dialect.js";
import { createHotPath } from "./flush.js";
import { createPool, type Pool } from "./pool.js";
import { postgresRates } from "./rates.js";
import { type ConnectOptions, type PostgresConnectOptions, resolveConnect } from "./settings.js";

/** A PostgreSQL database that is not connected yet. */
export interface PostgresDatabase {
  readonly backend: Backend;
  readonly db: Kysely<Database>;
  readonly dialect: SqlDialect;
  readonly rates: RateStore;
}

/** The modes of the poolers behind the URLs of a database. */
export interface PoolerModes {
  /** The mode of the pooler behind `url`. */
  readonly mode: PoolerMode;
  /** The mode of the pooler behind `directUrl`; without one, the same as `mode`. */
  readonly directMode: PoolerMode;
}

function connectTo(options: ConnectOptions, mode: PoolerMode): { readonly pool: Pool; readonly db: Kysely<Database> } {
  const pool = createPool(options, mode);
  return { pool, db: new Kysely<Database>({ dialect: new PostgresDialect({ pool: pool.open }) }) };
}

/** Runs a transaction over a separate connection, on which the client does not limit its time. */
async function runSeparately<T>(
  options: ConnectOptions,
  mode: PoolerMode,
  run: (db: Kysely<Database>) => Promise<T>,
): Promise<T> {
  const { pool, db } = connectTo({ ...options, max: 1, statementTimeoutMs: undefined }, mode);
  try {
    return await db.transaction().execute(run);
  } finally {
    await db.destroy();
    await pool.close();
  }
}

function createPoolerModes({ directUrl }: PostgresConnectOptions): PoolerModes {
  const mode = createPoolerMode();
  return { mode, directMode: directUrl === undefined ? mode : createPoolerMode() };
}

/** A renewal on a connection that has died fails before the lease expires, and the next one opens another. */
const heartbeatTimeoutMs = 3000;

/** `now`: the store's clock. Default: the database's clock. */
export function openPostgres(
  options: PostgresConnectOptions,
  now?: (() => number) | undefined,
  { mode, directMode }: PoolerModes = createPoolerModes(options),
): PostgresDatabase {
  const { connect, direct } = resolveConnect(options);
  const { pool, db } = connectTo(connect, mode);
  const dialect = postgresDialect({ now, runSeparately: (run) => runSeparately(direct, directMode, run) });
  const hot = createHotPath({ pool, shard: dialect.shard, now });
  const backend = createKyselyBackend({ db, dialect, hot });
  // Other processes take this one for dead when its renewal waits for a connection behind the calls of its callers.
  const { statementTimeoutMs = heartbeatTimeoutMs } = connect;
  const timeoutMs = Math.min(statementTimeoutMs, heartbeatTimeoutMs);
  const heartbeat = connectTo({ ...connect, max: 1, statementTimeoutMs: timeoutMs }, mode);
  const { renew } = createKyselyBackend({ db: heartbeat.db, dialect, hot });
  return {
    db,
    dialect,
    rates: postgresRates(pool, now),
    backend: {
      ...backend,
      renew,
      onFlush: (listener) => hot.listen((flush) => listener({ system: "postgresql", ...flush })),
      async close() {
        await hot.drain();
        await Promise.all([backend.close(), heartbeat.db.destroy()]);
        await Promise.all([pool.close(), heartbeat.pool.close()]);
      },
    },
  };
}
