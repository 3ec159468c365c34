// Without the driver, so that the types of this entry need none of its types.

/** Connection settings of PostgreSQL. */
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

/** How to connect to a database. */
export interface ConnectOptions {
  readonly url: string;
  /** Largest number of connections. */
  readonly max: number;
  readonly connectTimeoutMs: number;
  /** Time limit of a statement on the server; the client waits a little longer. `undefined`: no limit. */
  readonly statementTimeoutMs: number | undefined;
  /** Whether a connection keeps the same session, which a pooler in transaction mode does not. */
  readonly sessions: boolean;
}

/** The connection options with their defaults. Throws a `TypeError` that never shows the password. */
export function resolveConnect(options: PostgresConnectOptions): ConnectOptions {
  const { url, pool = {}, sessions = true, connectTimeoutMs = 10_000, statementTimeoutMs = 30_000 } = options;
  const { max = 10 } = pool;
  const scheme = /^[^:/?#]*/.exec(url)?.[0] ?? "";
  if (!["postgres", "postgresql"].includes(scheme) || !url.startsWith(`${scheme}://`)) {
    throw new TypeError(`the url of the database must begin with postgres://, not ${JSON.stringify(scheme)}`);
  }
  return { url, max, sessions, connectTimeoutMs, statementTimeoutMs };
}
