import { Kysely, PostgresDialect } from "kysely";
import type { SqlDialect } from "../sql/dialect.js";
import { createKyselyBackend } from "../sql/kysely-backend.js";
import type { Backend } from "../sql/rows.js";
import type { Database } from "../sql/schema.js";
import { postgresDialect } from "./dialect.js";
import { createHotPath } from "./flush.js";
import { type ConnectOptions, createPool, type Pool } from "./pool.js";

/** How to connect to PostgreSQL. */
export interface PostgresConnectOptions {
  /**
   * Of the database: `postgres://user:password@host:port/database`. Query parameters of `libpq` such as `sslmode` are
   * supported.
   */
  readonly url: string;
  /** `max`: the largest number of connections for calls. Default: 10. The lease and the hints have one more each. */
  readonly pool?: { readonly max?: number | undefined } | undefined;
  /**
   * Whether a connection keeps the same database session. Set `false` for a pooler in transaction mode: then statements
   * are planned each time, time limits are those of the pooler, and there are no hints. Default: `true`.
   */
  readonly sessions?: boolean | undefined;
  /** How long a call waits for a connection, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** Time limit of a statement in milliseconds; statements of a migration have none. Default: 30,000. */
  readonly statementTimeoutMs?: number | undefined;
}

/** A PostgreSQL database that is not connected yet. */
export interface PostgresDatabase {
  readonly backend: Backend;
  readonly db: Kysely<Database>;
  readonly dialect: SqlDialect;
}

/** The connection options with their defaults. Throws a `TypeError` that never shows the password. */
export function resolveConnect(options: PostgresConnectOptions): ConnectOptions {
  const { url, pool = {}, sessions = true, connectTimeoutMs = 10_000, statementTimeoutMs = 30_000 } = options;
  const { max = 10 } = pool;
  const scheme = /^[^:/?#]*/.exec(url)?.[0] ?? "";
  if (!["postgres", "postgresql"].includes(scheme) || !url.startsWith(`${scheme}://`)) {
    throw new TypeError(`the url of the database begins with ${JSON.stringify(scheme)}, wanted postgres://`);
  }
  return { url, max, sessions, connectTimeoutMs, statementTimeoutMs };
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
    backend: {
      ...backend,
      renew,
      async close() {
        await hot.drain();
        await Promise.all([backend.close(), heartbeat.db.destroy()]);
        await Promise.all([pool.close(), heartbeat.pool.close()]);
      },
    },
  };
}
