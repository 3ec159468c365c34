import { randomInt } from "node:crypto";
import { type RawBuilder, sql } from "kysely";
import type { LogRange, SqlDialect } from "../sql/dialect.js";
import { type Given, Param, sentAs } from "../sql/param.js";
import type { Database } from "../sql/schema.js";

/** The database's clock is used, so that all processes have the same time. */
export const clockText = "floor(extract(epoch from clock_timestamp()) * 1000)::bigint";

/** How many shards the counters have: each is a row more to be added up for a count. */
const shards = 16;

/** Any number that no other program of the database locks. */
export const migrationLock = 7_238_201_846;

const analyzed = [
  "trivium_tasks",
  "trivium_snapshots",
  "trivium_log",
  "trivium_inbox",
  "trivium_sends",
  "trivium_push_configs",
  "trivium_counts",
  "trivium_periods",
] as const satisfies readonly (keyof Database)[];

/** What only those know who connect. `now`: the store's clock; left out: that of the database. */
export interface PostgresDialectOptions extends Pick<SqlDialect, "withoutLimits"> {
  readonly now?: (() => number) | undefined;
}

export function postgresDialect({ now, withoutLimits }: PostgresDialectOptions): SqlDialect {
  return {
    name: "postgres",
    shard: `${randomInt(shards)}`,
    locksRows: true,
    types: { serial: "bigint generated always as identity primary key", integer: "bigint", bytes: "bytea" },
    // Rows that change have room beside them for their next version, which then needs no new entries in the indexes.
    tableEnd: (clustered) => (clustered ? undefined : sql`with (fillfactor = 80)`),
    // As a query of its own it is asked once for each statement, and an index can be searched for it.
    now: (late = false) =>
      now === undefined
        ? sql<number>`(select ${sql.raw(clockText)})`
        : sql<number>`${late ? new Param(now) : now()}::bigint`,
    nowText: clockText,
    isOneOf: (column, numbers) => sql`${sql.ref(column)} = any(${numbers}::bigint[])`,
    rare: (condition) => condition,
    ranges: tableOfRanges,
    async hasTable(db, table) {
      const { rows } = await sql<{ found: boolean }>`select to_regclass(${table}) is not null as found`.execute(db);
      return rows[0]?.found === true;
    },
    withoutLimits,
    analyzeText: `analyze ${analyzed.map((table) => `"${table}"`).join(", ")}`,
    async lockMigrations(transaction) {
      // A role or a database may have limits of its own. The last of them is new in PostgreSQL 17.
      const limits = sql.join(["statement_timeout", "lock_timeout", "transaction_timeout"]);
      await sql`select set_config(name, '0', true) from pg_settings where name in (${limits})`.execute(transaction);
      await sql`select pg_advisory_xact_lock(${migrationLock})`.execute(transaction);
    },
  };
}

function tableOfRanges(ranges: Given<readonly LogRange[]>): RawBuilder<LogRange> {
  const column = (name: keyof LogRange) => sql`${sentAs(ranges, (list) => list.map((range) => range[name]))}::bigint[]`;
  return sql`(select * from unnest(${column("key")}, ${column("after")}, ${column("upto")}) as r(key, after, upto))`;
}
