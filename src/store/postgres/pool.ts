import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from "kysely";
import type pg from "pg";
import { noop } from "../../protocol/async/noop.js";
import { within } from "../../protocol/async/pause.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { StoreError } from "../sql/store-error.js";
import {
  beginText,
  type Connector,
  clientTimeoutMs,
  createConnector,
  keepAlive,
  loadPg,
  type PoolerMode,
  type Session,
  statementName,
} from "./connection.js";
import type { ConnectOptions } from "./settings.js";
import { valueToDatabase } from "./text.js";

// Connections in the form that Kysely uses, for its queries and for direct ones. A statement with parameters gets a name, so
// that each connection plans it once; by default not on a connection without a session of its own, where each transaction
// begins with its time limits. A connection that did not answer in time, or that has lost its prepared statements, is broken: its next
// queries fail at once, and it is destroyed when it is released.

/** The connections of one store, opened on first use. They do not keep the process alive. */
export interface Pool {
  /** For Kysely. */
  readonly open: () => Promise<PostgresPool>;
  query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[]): Promise<readonly R[]>;
  /** Makes each connection plan its statements again on their next use. */
  replan(): void;
  close(): Promise<void>;
}

/** `mode`: of the pooler in front of the database. All connections to it share the mode. */
export function createPool(options: ConnectOptions, mode: PoolerMode): Pool {
  let pgPool: Promise<pg.Pool> | undefined;
  const pool = (): Promise<pg.Pool> => {
    pgPool ??= loadPg().then((driver) => makePool(driver, createConnector(driver, options, mode), options));
    return pgPool;
  };
  /** How often the plans of all connections were discarded. */
  const plans = { age: 0 };
  const findName = createNames();
  const ages = new WeakMap<pg.PoolClient, number>();
  const connect = async () => {
    const client = await (await pool()).connect();
    const age = ages.get(client) ?? plans.age;
    ages.set(client, plans.age);
    if (age !== plans.age && preparesOn(client, options)) await client.query("discard plans").catch(noop);
    return clientFor(client, options, { findName, onSessionLost: () => mode.correct() });
  };
  return {
    async open() {
      return { options: (await pool()).options, connect, end: async () => {} };
    },
    async query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[]) {
      const client = await connect();
      try {
        return (await client.query<R>(text, values)).rows;
      } finally {
        client.release();
      }
    },
    replan() {
      plans.age += 1;
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

const farewellMs = 5_000;
/** Kysely begins each transaction with one of these. */
const beginPattern = /^(?:begin|start transaction)\b/;

function makePool(driver: typeof pg, { clientClass, config }: Connector, { max }: ConnectOptions): pg.Pool {
  const pool = new driver.Pool({ ...config, Client: clientClass, max, allowExitOnIdle: true });
  // A connection lost while idle is replaced on the next use.
  pool.on("error", noop);
  return pool;
}

/** The session of a connection of a pool, all of which `makePool` has made. */
function readSession(client: pg.PoolClient & { readonly session?: Session }): Session {
  return client.session ?? { mode: "transaction", processId: undefined };
}

function preparesOn(client: pg.PoolClient, { prepare }: ConnectOptions): boolean {
  return prepare ?? readSession(client).mode !== "transaction";
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
    const name = statementName(text);
    names.set(text, name);
    return name;
  };
}

const noResult = { command: "", rowCount: 0, rows: [] };

/** Codes of the server for an unknown, and for a duplicate, name of a prepared statement. */
const namesConfused = ["26000", "42P05"];

/** The error for a query that the server did not answer in time. */
function timeoutError(error: unknown): StoreError | undefined {
  if (!(error instanceof Error && error.message === "Query read timeout")) return undefined;
  return new StoreError("unreachable", "the database cannot be reached: it did not answer in time", { cause: error });
}

interface ClientDeps {
  readonly findName: ReturnType<typeof createNames>;
  /** Called when the connection turns out not to keep its session. */
  onSessionLost(): void;
}

/** A connection in the form that Kysely uses. */
function clientFor(
  client: pg.PoolClient,
  options: ConnectOptions,
  { findName, onSessionLost }: ClientDeps,
): PostgresPoolClient {
  const timeout = clientTimeoutMs(options);
  const isSessionless = readSession(client).mode === "transaction";
  const prepares = preparesOn(client, options);
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
    if (isBroken) throw new StoreError("unreachable", "the database cannot be reached: it did not answer in time");
    const name = prepares ? findName(text, values) : undefined;
    const isBegin = isSessionless && beginPattern.test(text);
    const whole = isBegin ? beginText(text, options) : text;
    const config = { name, text: whole, values: values.map(valueToDatabase), query_timeout: timeout };
    try {
      const results: pg.QueryResult | pg.QueryResult[] = await client.query(config);
      // A text of several statements has a result for each.
      const [result = noResult] = Array.isArray(results) ? results : [results];
      const { command, rowCount, rows } = result;
      return { command: command as PostgresQueryResult<R>["command"], rowCount: rowCount ?? 0, rows };
    } catch (error) {
      const failure = timeoutError(error);
      const isConfused = error instanceof Error && "code" in error && namesConfused.includes(`${error.code}`);
      // The pooler has changed its mode, or was mistaken for one that keeps sessions.
      if (isConfused && readSession(client).mode === "session") onSessionLost();
      // Later queries would wait behind the unanswered one, or fail for the same reason.
      isBroken ||= failure !== undefined || isConfused;
      throw failure ?? error;
    }
  }

  return { query, release: (destroy = false) => client.release(destroy || isBroken) };
}
