import { sql } from "kysely";
import { type DbContext, inTransaction, type SqlDialect } from "./dialect.js";
import type { PeriodsTable } from "./schema.js";

/**
 * A task is counted in the period of its status time. Existing databases depend on the length, so it must not change.
 */
export const periodMs = 600_000;

export function toPeriod(statusTime: number): number {
  return Math.floor(statusTime / periodMs);
}

/** How long after its end a period is left to writers. */
const settlesMs = 3_600_000;

/**
 * Folds the counters of periods that ended long ago: their shards become one row, and zero rows are removed. Takes at
 * most `limit` rows in one transaction and returns how many.
 */
export function foldPeriods(context: DbContext, limit: number): Promise<number> {
  return inTransaction(context, async (within) => {
    const rows = await takeUnfolded(within, limit);
    for (const counter of sumByKey(rows)) await addToFolded(within, counter);
    return rows.length;
  });
}

type Counter = Omit<PeriodsTable, "shard">;

/**
 * Rows that others are writing are left for the next round, so that no write waits. The planner must see the limit;
 * otherwise it expects a tenth of the table and reads all of it.
 */
async function takeUnfolded({ db, dialect }: DbContext, limit: number): Promise<readonly Counter[]> {
  const { rows } = await sql<Counter>`
    with loose as materialized (
      select agent, tenant, owner, period, state, shard from trivium_periods
      where period < cast((${dialect.now()} - ${sql.lit(settlesMs)}) / ${sql.lit(periodMs)} as bigint)
        and ${unfoldedRows(dialect)}
      order by period limit ${sql.lit(limit)} ${dialect.locksRows ? sql`for update skip locked` : sql``}
    )
    delete from trivium_periods
    where (agent, tenant, owner, period, state, shard) in (select agent, tenant, owner, period, state, shard from loose)
    returning agent, tenant, owner, period, state, count`.execute(db);
  return rows;
}

/**
 * Matches the index that finds them: with one shard there is nothing to fold, and otherwise a folded row is never zero.
 */
function unfoldedRows({ shard }: SqlDialect) {
  return shard === "" ? sql<boolean>`count = 0` : sql<boolean>`shard <> ''`;
}

/** One counter for each non-zero sum, in a fixed order, so that two concurrent folds do not deadlock. */
function sumByKey(rows: readonly Counter[]): readonly Counter[] {
  const sums = new Map<string, Counter>();
  for (const { count, ...key } of rows) {
    const name = JSON.stringify([key.agent, key.tenant, key.owner, key.period, key.state]);
    sums.set(name, { ...key, count: (sums.get(name)?.count ?? 0) + count });
  }
  const inOrder = [...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, counter]) => counter);
  return inOrder.filter(({ count }) => count !== 0);
}

async function addToFolded({ db }: DbContext, counter: Counter): Promise<void> {
  const { agent, tenant, owner, period, state } = counter;
  const row = await db
    .insertInto("trivium_periods")
    .values({ ...counter, shard: "" })
    .onConflict((conflict) =>
      conflict
        .columns(["agent", "tenant", "owner", "period", "state", "shard"])
        .doUpdateSet((set) => ({ count: set("trivium_periods.count", "+", set.ref("excluded.count")) })),
    )
    .returning("count")
    .executeTakeFirst();
  if (row?.count !== 0) return;
  await db
    .deleteFrom("trivium_periods")
    .where("agent", "=", agent)
    .where("tenant", "=", tenant)
    .where("owner", "=", owner)
    .where("period", "=", period)
    .where("state", "=", state)
    .where("shard", "=", "")
    .execute();
}
