import { Kysely, PostgresDialect } from "kysely";
import type { SqlDialect } from "../sql/dialect.js";
import { createKyselyBackend } from "../sql/kysely-backend.js";
import type { Backend } from "../sql/rows.js";
import type { Database } from "../sql/schema.js";
import { postgresDialect } from "./dialect.js";
import { createHotPath } from "./flush.js";
import { type ConnectOptions, createPool, type Pool } from "./pool.js";

export interface PostgresConnectOptions {
  /**
   * Of the database, as `postgres://user:password@host:port/database`; what `libpq` reads from its query, such as
   * `sslmode`, is understood.
   */
  readonly url: string;
  readonly pool?: { readonly max?: number | undefined } | undefined;
  /**
   * Whether a connection is the same session of the database as long as it lasts. `false` for a pooler that gives each
   * transaction another one: then statements are planned each time, the time limits are those of the pooler, and
   * there are no hints. Default: `true`.
   */
  readonly sessions?: boolean | undefined;
  /** How long a call waits for a connection, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** How long a statement may take, in milliseconds; those of a migration have no limit. Default: 30,000. */
  readonly statementTimeoutMs?: number | undefined;
}

/** A database of PostgreSQL, not yet connected. */
export interface PostgresDatabase {
  readonly backend: Backend;
  readonly db: Kysely<Database>;
  readonly dialect: SqlDialect;
}

/** The options of the connections with their defaults. Throws a `TypeError` that shows no password. */
export function resolveConnect(options: PostgresConnectOptions): ConnectOptions {
  const { url, pool = {}, sessions = true, connectTimeoutMs = 10_000, statementTimeoutMs = 30_000 } = options;
  const { max = 10 } = pool;
  const scheme = /^[^:/?#]*/.exec(url)?.[0] ?? "";
  if (!["postgres", "postgresql"].includes(scheme) || !url.startsWith(`${scheme}://`)) {
    throw new TypeError(`the url of the database begins with ${JSON.stringify(scheme)}, wanted postgres://`);
  }
  for (const [name, value] of Object.entries({ "pool.max": max, connectTimeoutMs, statementTimeoutMs })) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw new TypeError(`${name} is ${value}, wanted a whole number from 1`);
  }
  return { url, max, sessions, connectTimeoutMs, statementTimeoutMs };
}

function connectTo(connect: ConnectOptions): { readonly pool: Pool; readonly db: Kysely<Database> } {
  const pool = createPool(connect);
  return { pool, db: new Kysely<Database>({ dialect: new PostgresDialect({ pool: pool.open }) }) };
}

/** Runs over a connection of its own, for which neither the server nor the client has a limit of time. */
async function withoutLimits<T>(connect: ConnectOptions, run: (db: Kysely<Database>) => Promise<T>): Promise<T> {
  const { pool, db } = connectTo({ ...connect, max: 1, statementTimeoutMs: undefined });
  try {
    return await run(db);
  } finally {
    await db.destroy();
    await pool.close();
  }
}

/** `now`: the store's clock; left out: that of the database. */
export function openPostgres(options: PostgresConnectOptions, now?: (() => number) | undefined): PostgresDatabase {
  const connect = resolveConnect(options);
  const { pool, db } = connectTo(connect);
  const dialect = postgresDialect({ now, withoutLimits: (_, run) => withoutLimits(connect, run) });
  const hot = createHotPath({ pool, shard: dialect.shard, now });
  const backend = createKyselyBackend({ db, dialect, hot });
  return {
    db,
    dialect,
    backend: {
      ...backend,
      async close() {
        await hot.drain();
        await backend.close();
        await pool.close();
      },
    },
  };
}
