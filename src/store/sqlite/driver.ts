import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from "kysely";
import { noop } from "../../protocol/async/noop.js";

/** Number of statements kept compiled. The store has fewer; a text that depended on data would fill it. */
const maxStatements = 256;

/** One connection to a database, shared in turn by Kysely and direct users. */
export interface SqliteConnection {
  readonly database: DatabaseSync;
  /** Compiles a statement once per text. */
  prepare(text: string): StatementSync;
  /** The same for a statement that returns rows. */
  reader(text: string): Reader;
  /** Waits for the connection and takes it until the returned function is called. */
  acquire(): Promise<() => void>;
  /** Whether it is free and has no waiters. False before its first use, since Kysely closes only what it has opened. */
  isFree(): boolean;
}

/** Runs a statement and returns its rows. */
type Reader = (parameters: readonly SQLInputValue[]) => unknown[];

export function createSqliteConnection(database: DatabaseSync): SqliteConnection {
  let last: Promise<void> = Promise.resolve();
  let takers: number | undefined;
  return {
    database,
    prepare: memoize((text) => database.prepare(text)),
    reader: memoize((text) => createReader(database.prepare(text))),
    async acquire() {
      const before = last;
      let release = noop;
      takers = (takers ?? 0) + 1;
      last = new Promise((resolve) => {
        release = () => {
          takers = (takers ?? 0) - 1;
          resolve();
        };
      });
      await before;
      return release;
    },
    isFree: () => takers === 0,
  };
}

/** Caches one result per text. */
function memoize<T>(make: (text: string) => T): (text: string) => T {
  const results = new Map<string, T>();
  return (text) => {
    const cached = results.get(text);
    if (cached !== undefined) return cached;
    const result = make(text);
    const [oldest] = results.keys();
    if (results.size >= maxStatements && oldest !== undefined) results.delete(oldest);
    results.set(text, result);
    return result;
  };
}

/**
 * Rows arrive as arrays and become objects here: the driver's own objects cost more to create, and more to read. Saves
 * 15 % of reading a task, and 17 % of a page of 50 (Node 24.21).
 */
function createReader(statement: StatementSync): Reader {
  // Missing in the first Node releases with SQLite.
  if (typeof statement.setReturnArrays !== "function") return (parameters) => statement.all(...parameters);
  statement.setReturnArrays(true);
  let names: readonly string[] = [];
  return (parameters) => {
    const rows: unknown[] = statement.all(...parameters);
    return rows.map((row) => {
      const values = row as readonly SQLOutputValue[];
      // A table may get more columns while in use.
      if (names.length !== values.length) names = statement.columns().map(({ name }) => name);
      return makeRow(names, values);
    });
  };
}

function makeRow(names: readonly string[], values: readonly SQLOutputValue[]): Record<string, SQLOutputValue> {
  const row: Record<string, SQLOutputValue> = {};
  for (let index = 0; index < names.length; index += 1) row[names[index] ?? ""] = values[index] ?? null;
  return row;
}

/** A Kysely dialect over `node:sqlite`. Closing Kysely closes the database. */
export function kyselyDialect(connection: SqliteConnection): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(connection),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

/** Rolls back a failed transaction. Some failures have already done so. */
export function rollBack({ prepare }: SqliteConnection): void {
  try {
    prepare("rollback").run();
  } catch {
    // There was none any more.
  }
}

/** For the current user of the connection. */
export function runStatement<Row>(connection: SqliteConnection, query: CompiledQuery): QueryResult<Row> {
  const parameters = query.parameters.map(inputValue);
  // The row type is the caller's claim: Kysely knows its tables.
  if (givesRows(query)) return { rows: connection.reader(query.sql)(parameters) as Row[] };
  const { changes, lastInsertRowid } = connection.prepare(query.sql).run(...parameters);
  return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
}

/** The taken connection; the driver begins and ends transactions. */
class TakenConnection implements DatabaseConnection {
  readonly connection: SqliteConnection;
  readonly release: () => void;

  constructor(connection: SqliteConnection, release: () => void) {
    this.connection = connection;
    this.release = release;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return runStatement<Row>(this.connection, query);
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery<Row>(query);
  }
}

class SqliteDriver implements Driver {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<TakenConnection> {
    return new TakenConnection(this.#connection, await this.#connection.acquire());
  }

  /** A write transaction takes the lock at once, so that it cannot fail because another was quicker. */
  async beginTransaction(_taken: TakenConnection, { accessMode }: TransactionSettings): Promise<void> {
    this.#connection.prepare(accessMode === "read only" ? "begin" : "begin immediate").run();
  }

  async commitTransaction(): Promise<void> {
    this.#connection.prepare("commit").run();
  }

  async rollbackTransaction(): Promise<void> {
    rollBack(this.#connection);
  }

  async releaseConnection(connection: TakenConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    this.#connection.database.close();
  }
}

function givesRows({ query }: CompiledQuery): boolean {
  if (query.kind === "SelectQueryNode" || query.kind === "RawNode") return true;
  return "returning" in query && query.returning !== undefined;
}

function inputValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "number" || typeof value === "string" || typeof value === "bigint")
    return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`a parameter is null, a number, a string or bytes, this is ${typeof value}`);
}
