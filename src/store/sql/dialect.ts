import { type CompiledQuery, type Kysely, type QueryResult, type RawBuilder, type SqlBool, sql } from "kysely";
import type { AppendResult, Head } from "../../core/ports.js";
import type { QueryInput } from "./compile.js";
import type { AppendRow, ConversationWriteRow, NewTaskRow } from "./rows.js";
import type { Database } from "./schema.js";

/** All differences between the databases besides the driver and the hot path. */
export interface SqlDialect {
  /** The shard of the counters that this process updates; `""` where counters have one shard. */
  readonly shard: string;
  /** Whether several transactions write at once, so that rows read for an update must be locked. */
  readonly locksRows: boolean;
  /** Whether the primary key of a table can be changed; otherwise the table is copied. */
  readonly changesKeys: boolean;
  /** Whether processes share the counts of limits, which then have a table. */
  readonly sharesRates: boolean;
  readonly types: ColumnTypes;
  /** Ends the statement that creates a table. `clustered`: its rows are stored in primary-key order. */
  tableEnd(clustered: boolean): RawBuilder<unknown> | undefined;
  /**
   * The store's clock in milliseconds since the epoch. `late`: for a statement compiled once, which reads the clock on
   * each run.
   */
  now(late?: boolean): RawBuilder<number>;
  /** Names the database, alike on every connection; null for one that has a single connection. */
  readonly databaseName: RawBuilder<string | null>;
  /** The database's clock, for SQL that is run by hand. */
  readonly nowText: string;
  /** Joins statements to a script for the database's own shell. If one fails, the shell must commit nothing. */
  joinScript(statements: readonly string[]): string;
  /** Whether a column equals one of the numbers, with the same SQL text for any count. */
  isOneOf(column: string, numbers: QueryInput<readonly number[]>): RawBuilder<SqlBool>;
  /** The same condition, marked as matching few rows where the planner would not know. */
  rare(condition: RawBuilder<SqlBool>): RawBuilder<SqlBool>;
  /** The ranges as a table with the columns `key`, `after` and `upto`, for a join. */
  ranges(ranges: QueryInput<readonly LogRange[]>): RawBuilder<LogRange>;
  /**
   * Runs a compiled statement without Kysely, where the database has a faster path; `undefined` if it cannot now.
   * `within`: as part of the current transaction.
   */
  runDirectly?<R>(query: CompiledQuery<R>, within: boolean): QueryResult<R> | undefined;
  hasTable(db: Kysely<Database>, table: string): Promise<boolean>;
  /** Runs in a transaction without time limits for statements and locks. */
  withoutLimits<T>(db: Kysely<Database>, run: (transaction: Kysely<Database>) => Promise<T>): Promise<T>;
  /** SQL that refreshes the planner's statistics of tables that a migration changed. */
  readonly analyzeText?: string | undefined;
  /** Within a transaction: waits until no other process migrates, and blocks others until it ends. */
  lockMigrations(transaction: Kysely<Database>): Promise<void>;
}

interface ColumnTypes {
  /** The database's type for the key of a task. */
  readonly serial: string;
  readonly integer: "integer" | "bigint";
  readonly bytes: "blob" | "bytea";
}

/** A part of a task's log: the rows after `after`, up to `upto`. */
export interface LogRange {
  readonly key: number;
  readonly after: number;
  readonly upto: number;
}

/** A create, append or conversation write, as statements specific to the database. `context` may be a transaction. */
export interface HotPath {
  create(task: NewTaskRow, context: DbContext): Promise<Head>;
  append(write: AppendRow, context: DbContext): Promise<AppendResult>;
  addToConversations(writes: readonly ConversationWriteRow[], context: DbContext): Promise<void>;
}

/** A database and its dialect, passed to every query. Within a transaction `db` is the transaction. */
export interface DbContext {
  readonly db: Kysely<Database>;
  readonly dialect: SqlDialect;
}

/** Runs within the current transaction, or else in a new one. */
export function inTransaction<T>(context: DbContext, run: (context: DbContext) => Promise<T>): Promise<T> {
  if (context.db.isTransaction) return run(context);
  return context.db.transaction().execute((db) => run({ db, dialect: context.dialect }));
}

/** The time of the database in milliseconds since the epoch. */
export async function databaseTime({ db, dialect }: DbContext): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${dialect.now()} as now`.execute(db);
  return Number(rows[0]?.now);
}
