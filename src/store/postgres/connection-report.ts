import { type ConnectionMode, createConnector, createPoolerMode, loadPg } from "./connection.js";
import { type PostgresConnectOptions, resolveConnect } from "./settings.js";

/** How connections reach the sessions of a server, and the settings of these sessions. */
export interface ConnectionReport {
  readonly mode: ConnectionMode;
  /** The role and the database, quoted where SQL needs it. */
  readonly role: string;
  readonly database: string;
  /** Time limit of statements for which the store sets none, in milliseconds; 0: no limit. */
  readonly statementTimeoutMs: number;
  /** Parameters that other clients of the pooler have changed. */
  readonly left: readonly string[];
}

/** Parameters that change the effect of statements, or forbid some. */
const checkedSettings = [
  "default_transaction_isolation",
  "default_transaction_read_only",
  "idle_in_transaction_session_timeout",
  "lock_timeout",
  "plan_cache_mode",
  "search_path",
  "statement_timeout",
];

// Another client may have set a limit in a pooler's session: `reset_val` is its initial value.
const text = `
select quote_ident(current_user) as role, quote_ident(current_database()) as database,
  (select reset_val::bigint from pg_settings where name = 'statement_timeout') as timeout,
  array(
    select name from pg_settings where name = any($1::text[]) and source = 'session' and setting <> reset_val order by name
  ) as left`;

/** Connects, and finds the mode. */
export async function reportConnection(options: PostgresConnectOptions): Promise<ConnectionReport> {
  const driver = await loadPg();
  const client = await createConnector(driver, resolveConnect(options).connect, createPoolerMode()).connect();
  try {
    const { mode } = client.session;
    const { rows } = await client.query<{
      readonly role: string;
      readonly database: string;
      readonly timeout: number;
      readonly left: readonly string[];
    }>(text, [checkedSettings]);
    const { role = "", database = "", timeout = 0, left = [] } = rows[0] ?? {};
    // The settings of any other session are the store's.
    return { mode, role, database, statementTimeoutMs: timeout, left: mode === "transaction" ? left : [] };
  } finally {
    await client.end();
  }
}
