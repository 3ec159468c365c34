import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import type pg from "pg";
import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { bundleFault } from "../../protocol/load-package.js";
import { keepAlive } from "../sql/keep-alive.js";
import { StoreError } from "../sql/store-error.js";
import type { ConnectOptions } from "./settings.js";
import { textFromDatabase, valueToDatabase } from "./text.js";

type Pg = typeof pg;

/** Loads the driver, an optional peer dependency. */
export async function loadPg(load: () => Promise<{ readonly default: Pg }> = () => import("pg")): Promise<Pg> {
  try {
    return (await load()).default;
  } catch (cause) {
    const message = bundleFault("pg", cause)?.message ?? 'trivium/postgres needs the package "pg": npm install pg';
    throw new StoreError("unusable", message, { cause });
  }
}

/** A statement; if named, it is planned once per connection. */
interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The connections of one store, opened on first use. They do not keep the process alive. */
export interface Pool {
  /** For Kysely. */
  readonly open: () => Promise<PostgresPool>;
  query<R extends pg.QueryResultRow>(statement: Statement): Promise<readonly R[]>;
  /** Makes each connection plan its statements again on their next use. */
  replan(): void;
  close(): Promise<void>;
}

export function createPool(options: ConnectOptions, load = loadPg): Pool {
  let pgPool: Promise<pg.Pool> | undefined;
  const pool = (): Promise<pg.Pool> => {
    pgPool ??= load().then((driver) => makePool(driver, options, plans));
    return pgPool;
  };
  const plans = { age: 0 };
  const nameOf = options.sessions ? createNames() : () => undefined;
  return {
    async open() {
      const { options: config } = await pool();
      return {
        options: config,
        connect: async () => clientFor(await (await pool()).connect(), options, nameOf),
        end: async () => {},
      };
    },
    async query<R extends pg.QueryResultRow>({ name, text, values }: Statement) {
      const query = { text, values: values.map(valueToDatabase) };
      const open = await pool();
      try {
        return (await open.query<R>(options.sessions ? { ...query, name } : query)).rows;
      } catch (error) {
        throw timeoutError(error) ?? error;
      }
    },
    replan() {
      if (options.sessions) plans.age += 1;
    },
    async close() {
      const open = pgPool;
      pgPool = Promise.reject(new StoreError("unusable", "the database has been closed"));
      pgPool.catch(noop);
      // A server that does not answer is abandoned.
      const closing = open?.then((last) => last.end()).catch(noop);
      if (closing !== undefined) await keepAlive(() => within(systemClock, farewellMs, closing));
    },
  };
}

/** The settings of one connection. */
export function clientConfig(driver: Pg, options: ConnectOptions): pg.ClientConfig {
  const { url, connectTimeoutMs, statementTimeoutMs, sessions } = options;
  const types = { getTypeParser: typeParsers(driver) };
  const timeouts = { connectionTimeoutMillis: connectTimeoutMs, query_timeout: clientTimeoutMs(options) };
  // A middlebox may drop a connection that is silent for long, as during a long statement.
  const alive = { keepAlive: true, keepAliveInitialDelayMillis: 30_000 };
  const config = { connectionString: url, types, ...alive, ...timeouts };
  if (!sessions) return config;
  // A process that stalls within a transaction must not keep its tasks from others.
  const idle = Math.min(statementTimeoutMs ?? noTimeoutMs, 10_000);
  const connectionString = withPlanning(url);
  return {
    ...config,
    connectionString,
    statement_timeout: statementTimeoutMs ?? 0,
    idle_in_transaction_session_timeout: idle,
  };
}

/** The client waits longer than the server, whose error says more. */
function clientTimeoutMs({ statementTimeoutMs }: Pick<ConnectOptions, "statementTimeoutMs">): number {
  return statementTimeoutMs === undefined ? noTimeoutMs : statementTimeoutMs + graceMs;
}

const graceMs = 5_000;
const noTimeoutMs = 2 ** 31 - 1;
const farewellMs = 5_000;
const [int8, text, numeric] = [20, 25, 1700];

/** Integers and their sums become plain numbers: none here approaches 2^53. */
function typeParsers({ types }: Pg): pg.CustomTypesConfig["getTypeParser"] {
  return (oid, format) => {
    if (format === "binary") return types.getTypeParser(oid, format);
    if (oid === int8 || oid === numeric) return Number;
    return oid === text ? textFromDatabase : types.getTypeParser(oid);
  };
}

/**
 * A statement is planned once per connection. By default PostgreSQL plans it again whenever its arrays are shorter than
 * expected, and planning a small flush costs more than running it: two processes then cost two to three times as much.
 * Nothing else is set: each query plans well by itself.
 */
const planning = "-c plan_cache_mode=force_generic_plan";

/** Puts the setting before those of the URL, which take precedence. */
function withPlanning(url: string): string {
  const [base = "", query = ""] = url.split("?", 2);
  const params = new URLSearchParams(query);
  params.set("options", `${planning} ${params.get("options") ?? ""}`.trim());
  return `${base}?${params}`;
}

/** Counts how often the plans of all connections were discarded. */
interface Plans {
  readonly age: number;
}

function makePool(driver: Pg, options: ConnectOptions, plans: Plans): pg.Pool {
  const pool = new driver.Pool({ ...clientConfig(driver, options), max: options.max, allowExitOnIdle: true });
  // A connection lost while idle is replaced on the next use.
  pool.on("error", noop);
  // A connection lost in use fails its query; its error event has no other listener.
  pool.on("connect", (client) => client.on("error", noop));
  const ages = new WeakMap<pg.PoolClient, number>();
  pool.on("acquire", (client) => {
    const age = ages.get(client) ?? plans.age;
    ages.set(client, plans.age);
    // Sent before the statement that the connection was acquired for.
    if (age !== plans.age) client.query("discard plans").catch(noop);
  });
  return pool;
}

/** More texts than the store has. Beyond it a connection would not keep a plan of each. */
const maxNames = 200;

/**
 * Gives each text a name, so that it is planned once per connection. Texts without parameters, such as `begin`, get
 * none.
 */
function createNames(): (text: string, values: readonly unknown[]) => string | undefined {
  const names = new Map<string, string>();
  return (text, values) => {
    const existing = names.get(text);
    if (existing !== undefined || values.length === 0 || names.size >= maxNames) return existing;
    const name = `trivium_${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}

/** The error for a query that the server did not answer in time. */
function timeoutError(error: unknown): StoreError | undefined {
  if (!(error instanceof Error && error.message === "Query read timeout")) return undefined;
  return new StoreError("unreachable", "the database cannot be reached: an answer did not come", { cause: error });
}

/** A connection in the form that Kysely uses. */
function clientFor(
  client: pg.PoolClient,
  options: ConnectOptions,
  nameOf: ReturnType<typeof createNames>,
): PostgresPoolClient {
  const timeout = clientTimeoutMs(options);
  let isBroken = false;

  function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  function query<R>(
    statement: string | PostgresCursor<R>,
    values: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof statement === "string") return run<R>(statement, values);
    throw new TypeError("a cursor was given, but results are read whole");
  }

  async function run<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    if (isBroken) throw new StoreError("unreachable", "the database cannot be reached: an answer did not come");
    const config = { name: nameOf(text, values), text, values: values.map(valueToDatabase), query_timeout: timeout };
    try {
      const { command, rowCount, rows } = await client.query(config);
      return { command: command as PostgresQueryResult<R>["command"], rowCount: rowCount ?? 0, rows };
    } catch (error) {
      const failure = timeoutError(error);
      // Later queries would wait behind the unanswered one.
      isBroken ||= failure !== undefined;
      throw failure ?? error;
    }
  }

  return { query, release: (destroy = false) => client.release(destroy || isBroken) };
}
