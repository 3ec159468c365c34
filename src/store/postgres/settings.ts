// Without the driver, so that the types of this entry need none of its types.

/** Connection settings of PostgreSQL. */
export interface PostgresConnectOptions {
  /**
   * URL of the database: `postgres://user:password@host:port/database`. Query parameters of `libpq` such as `sslmode`
   * are supported.
   */
  readonly url: string;
  /** `max`: largest number of connections for calls. Default: 10. The lease and the hints use one more each. */
  readonly pool?: { readonly max?: number | undefined } | undefined;
  /**
   * Whether a connection keeps its database session, which a pooler in transaction mode does not. With `false`, the
   * store sets nothing that outlives a transaction, hints need a `directUrl`, and statements outside transactions have
   * the time limits of their role. Default: detected when the first connection opens.
   */
  readonly sessions?: boolean | undefined;
  /**
   * Whether statements are prepared, so that each is planned once per connection. `true` also suits a pooler in
   * transaction mode that keeps track of prepared statements: PgBouncer from 1.21, with `max_prepared_statements` over 0.
   * Default: true where connections keep their sessions.
   */
  readonly prepare?: boolean | undefined;
  /**
   * URL of the same database without the pooler, for hints and migrations: a pooler in transaction mode does not pass on
   * hints, and may cut off migrations. Default: `url`.
   */
  readonly directUrl?: string | undefined;
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
  /** Whether a connection keeps the same session; `undefined`: to be detected. */
  readonly sessions: boolean | undefined;
  /** Whether statements are prepared; `undefined`: where connections keep their sessions. */
  readonly prepare: boolean | undefined;
}

/** How to connect to a database: by `url`, perhaps through a pooler, and directly if `directUrl` is given. */
export interface ResolvedConnect {
  readonly connect: ConnectOptions;
  readonly direct: ConnectOptions;
}

/** The connection options with their defaults. Throws a `TypeError` that never shows the password. */
export function resolveConnect(options: PostgresConnectOptions): ResolvedConnect {
  const {
    url,
    directUrl,
    pool = {},
    sessions,
    prepare,
    connectTimeoutMs = 10_000,
    statementTimeoutMs = 30_000,
  } = options;
  const { max = 10 } = pool;
  checkUrl("the url", url);
  const connect = { url, max, sessions, prepare, connectTimeoutMs, statementTimeoutMs };
  if (directUrl === undefined) return { connect, direct: connect };
  checkUrl("the directUrl", directUrl);
  return { connect, direct: { ...connect, url: directUrl, sessions: undefined, prepare: undefined } };
}

function checkUrl(name: string, url: string): void {
  const scheme = /^[^:/?#]*/.exec(url)?.[0] ?? "";
  if (["postgres", "postgresql"].includes(scheme) && url.startsWith(`${scheme}://`)) return;
  throw new TypeError(`${name} of the database must begin with postgres://, not ${JSON.stringify(scheme)}`);
}
