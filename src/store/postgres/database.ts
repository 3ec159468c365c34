import { Kysely, PostgresDialect } from "kysely";
import type { RateStore } from "../../core/ports.js";
import type { SqlDialect } from "../sql/dialect.js";
import { createKyselyBackend } from "../sql/kysely-backend.js";
import type { Backend } from "../sql/rows.js";
import type { Database } from "../sql/schema.js";
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

function connectTo(connect: ConnectOptions): { readonly pool: Pool; readonly db: Kysely<Database> } {
  const pool = createPool(connect);
  return { pool, db: new Kysely<Database>({ dialect: new PostgresDialect({ pool: pool.open }) }) };
}

/** Runs over a separate connection, on which neither server nor client limits time. */
async function withoutLimits<T>(connect: ConnectOptions, run: (db: Kysely<Database>) => Promise<T>): Promise<T> {
  const { pool, db } = connectTo({ ...connect, max: 1, statementTimeoutMs: undefined });
  try {
    return await run(db);
  } finally {
    await db.destroy();
    await pool.close();
  }
}

/** A renewal on a connection that has died fails before the lease expires, and the next one opens another. */
const heartbeatTimeoutMs = 3000;

/** `now`: the store's clock. Default: the database's clock. */
export function openPostgres(options: PostgresConnectOptions, now?: (() => number) | undefined): PostgresDatabase {
  const connect = resolveConnect(options);
  const { pool, db } = connectTo(connect);
  const dialect = postgresDialect({ now, withoutLimits: (_, run) => withoutLimits(connect, run) });
  const hot = createHotPath({ pool, shard: dialect.shard, now });
  const backend = createKyselyBackend({ db, dialect, hot });
  // Other processes take this one for dead when its renewal waits for a connection behind the calls of its callers.
  const { statementTimeoutMs = heartbeatTimeoutMs } = connect;
  const timeoutMs = Math.min(statementTimeoutMs, heartbeatTimeoutMs);
  const heartbeat = connectTo({ ...connect, max: 1, statementTimeoutMs: timeoutMs });
  const { renew } = createKyselyBackend({ db: heartbeat.db, dialect, hot });
  return {
    db,
    dialect,
    rates: postgresRates({ pool, now }),
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
