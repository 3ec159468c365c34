import { randomInt } from "node:crypto";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { mapInput, Param, type QueryInput } from "../sql/compile.js";
import type { LogRange, SqlDialect } from "../sql/dialect.js";
import type { Database } from "../sql/schema.js";

/** Uses the database's clock, so that all processes agree on the time. */
export const clockText = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** Number of shards of a counter; each adds a row to sum up for a count. */
const shards = 16;

/** An arbitrary number that no other program in the database should lock. */
export const migrationLock = 7_238_201_846;

const analyzedTables = [
  "trivium_tasks",
  "trivium_snapshots",
  "trivium_log",
  "trivium_inbox",
  "trivium_sends",
  "trivium_push_configs",
  "trivium_counts",
  "trivium_periods",
  "trivium_contexts",
  "trivium_conversations",
  "trivium_context_values",
] as const satisfies readonly (keyof Database)[];

/** Options known only to the connecting code. `now`: the store's clock. Default: the database's clock. */
export interface PostgresDialectOptions {
  readonly now?: (() => number) | undefined;
  /** Runs a transaction over a separate connection, for which the client has no time limit. */
  runSeparately<T>(run: (transaction: Kysely<Database>) => Promise<T>): Promise<T>;
}

export function postgresDialect({ now, runSeparately }: PostgresDialectOptions): SqlDialect {
  return {
    shard: `${randomInt(shards)}`,
    locksRows: true,
    changesKeys: true,
    sharesRates: true,
    types: { serial: "bigint generated always as identity primary key", integer: "bigint", bytes: "bytea" },
    // Updated rows have room beside them for their next version, which then needs no new index entries.
    tableEnd: (clustered) => (clustered ? undefined : sql`with (fillfactor = 80)`),
    // As a subquery it is evaluated once per statement, and an index can be searched for it.
    now: (late = false) =>
      now === undefined
        ? sql<number>`(select ${sql.raw(clockText)})`
        : sql<number>`${late ? new Param(now) : now()}::bigint`,
    // Not every role may read the identifier of the server, so the times of the migrations are used instead.
    databaseName: sql`(select concat_ws('/', current_database(), 'trivium_tasks'::regclass::oid, min(applied_at), max(applied_at)) from trivium_schema)`,
    nowText: clockText,
    // After an error PostgreSQL refuses all statements until the transaction ends, and rolls it back.
    joinScript: (statements) => statements.map((statement) => `${statement};\n`).join(""),
    isOneOf: (column, numbers) => sql`${sql.ref(column)} = any(${numbers}::bigint[])`,
    rare: (condition) => condition,
    ranges: createRangeTable,
    async hasTable(db, table) {
      const { rows } = await sql<{ found: boolean }>`select to_regclass(${table}) is not null as found`.execute(db);
      return rows[0]?.found === true;
    },
    withoutLimits: (_, run) =>
      runSeparately(async (transaction) => {
        // A role or a database may have its own limits. `transaction_timeout` is new in PostgreSQL 17.
        const limits = sql.join(["statement_timeout", "lock_timeout", "transaction_timeout"]);
        await sql`select set_config(name, '0', true) from pg_settings where name in (${limits})`.execute(transaction);
        return await run(transaction);
      }),
    analyzeText: `analyze ${analyzedTables.map((table) => `"${table}"`).join(", ")}`,
    async lockMigrations(transaction) {
      await sql`select pg_advisory_xact_lock(${migrationLock})`.execute(transaction);
    },
  };
}

function createRangeTable(ranges: QueryInput<readonly LogRange[]>): RawBuilder<LogRange> {
  const column = (name: keyof LogRange) =>
    sql`${mapInput(ranges, (list) => list.map((range) => range[name]))}::bigint[]`;
  return sql`(select * from unnest(${column("key")}, ${column("after")}, ${column("upto")}) as r(key, after, upto))`;
}
