import type { CompiledQuery, Kysely, QueryResult, RawBuilder, SqlBool } from "kysely";
import type { AppendResult, Head } from "../../core/ports.js";
import type { Given } from "./param.js";
import type { AppendRow, NewTaskRow } from "./rows.js";
import type { Database } from "./schema.js";

/** All that differs between the databases, beside the driver and the hot path. */
export interface SqlDialect {
  readonly name: "sqlite" | "postgres";
  /** Which shard of the counters this process writes. */
  readonly shard: string;
  /** Whether several transactions write at once, so that rows that are read to be written must be locked. */
  readonly locksRows: boolean;
  readonly types: ColumnTypes;
  /** Ends the statement that makes a table; `clustered`: its rows lie in the order of its primary key. */
  tableEnd(clustered: boolean): RawBuilder<unknown> | undefined;
  /**
   * The store's clock: milliseconds since the epoch. `late`: for a statement that is compiled once, and asks the clock
   * each time it runs.
   */
  now(late?: boolean): RawBuilder<number>;
  /** The clock of the database, for SQL that is run by hand. */
  readonly nowText: string;
  /** Whether a column has one of the numbers: one text of SQL, however many they are. */
  isOneOf(column: string, numbers: Given<readonly number[]>): RawBuilder<SqlBool>;
  /** The same condition, said to hold for few rows where the planner would not know. */
  rare(condition: RawBuilder<SqlBool>): RawBuilder<SqlBool>;
  /** The ranges as a table with the columns `key`, `after` and `upto`, to be joined. */
  ranges(ranges: Given<readonly LogRange[]>): RawBuilder<LogRange>;
  /**
   * Runs a compiled statement past Kysely, where the database has a shorter way; `undefined`: not now. `within`: as a
   * part of the transaction that runs.
   */
  runDirectly?<R>(query: CompiledQuery<R>, within: boolean): QueryResult<R> | undefined;
  hasTable(db: Kysely<Database>, table: string): Promise<boolean>;
  /** Runs over a connection whose statements, and whose waits for locks, take the time that they take. */
  withoutLimits<T>(db: Kysely<Database>, run: (db: Kysely<Database>) => Promise<T>): Promise<T>;
  /** SQL that refreshes what the planner knows of tables that a migration has changed. */
  readonly analyzeText?: string | undefined;
  /** Within a transaction: waits until no other process migrates, and keeps others waiting until its end. */
  lockMigrations(transaction: Kysely<Database>): Promise<void>;
}

interface ColumnTypes {
  /** The key of the tasks, in the words of the database. */
  readonly serial: string;
  readonly integer: "integer" | "bigint";
  readonly bytes: "blob" | "bytea";
}

/** Part of the log of a task: the rows behind `after`, up to `upto`. */
export interface LogRange {
  readonly key: number;
  readonly after: number;
  readonly upto: number;
}

/** The two writes that every event makes, in statements of the database's own. `place` may be a transaction. */
export interface HotPath {
  create(task: NewTaskRow, context: DbContext): Promise<Head>;
  append(write: AppendRow, context: DbContext): Promise<AppendResult>;
}

/** A database, and how to speak with it: what each query is given. Within a transaction `db` is that. */
export interface DbContext {
  readonly db: Kysely<Database>;
  readonly dialect: SqlDialect;
}

/** Runs within a transaction: the one that the place is in, else one of its own. */
export function inTransaction<T>(context: DbContext, run: (context: DbContext) => Promise<T>): Promise<T> {
  if (context.db.isTransaction) return run(context);
  return context.db.transaction().execute((db) => run({ db, dialect: context.dialect }));
}
