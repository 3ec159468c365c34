import { type SqlBool, sql } from "kysely";
import type { DueCursor, Head, Instances, WaitingCursor } from "../../../core/ports.js";
import type { ParkedCount } from "../../../protocol/telemetry/follow.js";
import { compile, type Params } from "../compile.js";
import type { DbContext } from "../dialect.js";
import { type HeadRow, headFrom, selectHeads } from "../head-row.js";
import type { Backend } from "../rows.js";

export function instanceQueries(context: DbContext): Pick<Backend, keyof Instances> {
  return {
    renew: (instance, ttlMs) => renewInstance(context, instance, ttlMs),
    async retire(instance) {
      await deleteInstance.write(context, { name: instance });
    },
    async otherTtls(ttlMs) {
      const rows = await otherTtls.all(context, { ttlMs });
      return rows.map(({ ttl_ms: ttl }) => ttl).filter((ttl) => ttl !== null);
    },
    orphans: (agent, limit, after) => orphans(context, { agent, limit, after }),
    due: (agent, limit, after) => dueTasks(context, { agent, limit, after }),
    waiting: (agent, olderMs, limit, after) => waitingTasks(context, { agent, olderMs, limit, after }),
    parked: (agent) => countParked(context, agent),
  };
}

/** How long expired instances are kept. A missing one counts as expired. */
const expiredKeepMs = 3_600_000;
/** Differences between the clocks of processes and transactions. */
const slackMs = 1000;

/** Rejects when the database cannot be written. Changes nothing. */
export async function checkWritable({ db }: DbContext): Promise<void> {
  await db.deleteFrom("trivium_instances").where("name", "=", "").execute();
}

async function renewInstance(context: DbContext, name: string, ttlMs: number): Promise<number> {
  const row = await putInstance.first(context, { name, ttlMs });
  await dropInstances.write(context, {});
  return (row?.expires_at ?? Number.NaN) - ttlMs;
}

const putInstance = compile(
  ({ db, dialect }, { name, ttlMs }: Params<{ readonly name: string; readonly ttlMs: number }>) =>
    db
      .insertInto("trivium_instances")
      .values({ name, expires_at: sql<number>`${dialect.now()} + ${ttlMs}`, ttl_ms: ttlMs })
      .onConflict((conflict) =>
        conflict.column("name").doUpdateSet((set) => ({
          expires_at: set.ref("excluded.expires_at"),
          ttl_ms: set.ref("excluded.ttl_ms"),
        })),
      )
      .returning("expires_at"),
);

// Those that expired long ago, and those that renewed later than now.
const dropInstances = compile(({ db, dialect }) =>
  db
    .deleteFrom("trivium_instances")
    .where(({ eb, or }) =>
      or([
        eb("expires_at", "<", sql<number>`${dialect.now()} - ${expiredKeepMs}`),
        eb("expires_at", ">", sql<number>`${dialect.now()} + ttl_ms + ${sql.lit(slackMs)}`),
      ]),
    ),
);

const deleteInstance = compile(({ db }, { name }: Params<{ readonly name: string }>) =>
  db.deleteFrom("trivium_instances").where("name", "=", name),
);

const otherTtls = compile(({ db, dialect }, { ttlMs }: Params<{ readonly ttlMs: number }>) =>
  db
    .selectFrom("trivium_instances")
    .select("ttl_ms")
    .distinct()
    .where("ttl_ms", "<>", ttlMs)
    .where("expires_at", ">", dialect.now())
    .limit(10),
);

interface Sweep {
  readonly agent: string;
  readonly limit: number;
}

/** Expired holders of tasks. Each is checked once, however many tasks it has. */
export const expiredHolders = expiredIn("trivium_tasks");

/**
 * Tasks of one holder by key. `+ 0` makes the planner use the small index of holders; without statistics it would
 * rather scan all tasks in order.
 */
export const heldBy = compile((context, { agent, limit, after, holder }: Params<Sweep & OrphanPosition>) =>
  selectHeads(context)
    .where("t.agent", "=", agent)
    .where("t.holder", "<>", sql.lit(""))
    .where("t.holder", "=", holder)
    .where(sql`t.key + 0`, ">", after)
    .orderBy(sql`t.key + 0`)
    .limit(limit),
);

interface OrphanPosition {
  readonly holder: string;
  readonly after: number;
}

/** Tasks of an agent whose holder has expired. */
async function orphans(
  context: DbContext,
  { agent, limit, after = 0 }: Sweep & { readonly after?: number | undefined },
): Promise<readonly Head[]> {
  const rows: HeadRow[] = [];
  for (const { name: holder } of await expiredHolders.all(context, {})) {
    rows.push(...(await heldBy.all(context, { agent, limit, after, holder })));
  }
  return rows
    .toSorted((a, b) => a.key - b.key)
    .slice(0, limit)
    .map(headFrom);
}

/** Parked tasks of an agent that are due. */
export const due = compile((context, { agent, limit, wakeAt, key }: Params<Sweep & DueCursor>) =>
  selectHeads(context)
    .where("t.agent", "=", agent)
    .where("t.wake_at", "is not", null)
    .where("t.wake_at", "<=", context.dialect.now())
    .where(sql<SqlBool>`(t.wake_at, t.key) > (${wakeAt}, ${key})`)
    .orderBy("t.wake_at")
    .orderBy("t.key")
    .limit(limit),
);

const first: DueCursor = { wakeAt: Number.MIN_SAFE_INTEGER, key: 0 };

async function dueTasks(
  context: DbContext,
  { agent, limit, after = first }: Sweep & { readonly after?: DueCursor | undefined },
): Promise<readonly Head[]> {
  const { wakeAt, key } = after;
  return (await due.all(context, { agent, limit, wakeAt, key })).map(headFrom);
}

/** Unfinished tasks of an agent without a holder and without a wake time. */
export const waiting = compile(
  (context, { agent, limit, olderMs, statusTime, key }: Params<Sweep & WaitingCursor & { readonly olderMs: number }>) =>
    selectHeads(context)
      .where("t.agent", "=", agent)
      .where("t.holder", "=", sql.lit(""))
      .where("t.finished_at", "is", null)
      .where("t.wake_at", "is", null)
      .where("t.status_time", "<=", sql<number>`${context.dialect.now()} - ${olderMs}`)
      .where(sql<SqlBool>`(t.status_time, t.key) > (${statusTime}, ${key})`)
      .orderBy("t.status_time")
      .orderBy("t.key")
      .limit(limit),
);

async function waitingTasks(
  context: DbContext,
  sweep: Sweep & { readonly olderMs: number; readonly after?: WaitingCursor | undefined },
): Promise<readonly Head[]> {
  const { statusTime, key } = sweep.after ?? { statusTime: Number.MIN_SAFE_INTEGER, key: 0 };
  const { agent, olderMs, limit } = sweep;
  return (await waiting.all(context, { agent, olderMs, limit, statusTime, key })).map(headFrom);
}

async function countParked(context: DbContext, agent: string): Promise<ParkedCount> {
  const [count, database] = await Promise.all([
    parkedCounts.first(context, { agent }),
    databaseName.first(context, {}),
  ]);
  return { timed: count?.timed ?? 0, untimed: count?.untimed ?? 0, database: database?.name ?? undefined };
}

/** Walks the parts of two indexes that hold parked tasks alone. Their conditions are those of the indexes. */
export const parkedCounts = compile(({ db }, { agent }: Params<{ readonly agent: string }>) => {
  const countTasks = () =>
    db.selectFrom("trivium_tasks as t").select(sql<number>`count(*)`.as("count")).where("t.agent", "=", agent);
  const untimed = countTasks()
    .where("t.holder", "=", sql.lit(""))
    .where("t.finished_at", "is", null)
    .where("t.wake_at", "is", null);
  return db.selectNoFrom([countTasks().where("t.wake_at", "is not", null).as("timed"), untimed.as("untimed")]);
});

const databaseName = compile(({ db, dialect }) => db.selectNoFrom(dialect.databaseName.as("name")));

type HoldingTable = "trivium_tasks" | "trivium_push_configs";

/** The expired or unknown holders in a table, of any agent. */
export function expiredIn(table: HoldingTable) {
  return compile(({ db, dialect }) =>
    db
      .selectFrom(holders(table).as("h"))
      .select("h.name")
      .where(
        sql<boolean>`not exists (select 1 from trivium_instances as lives
          where lives.name = h.name and lives.expires_at > ${dialect.now()})`,
      ),
  );
}

/**
 * Every holder, of any agent, found by skipping through the index. They are few; the tasks of each are then looked up
 * by holder and agent.
 */
function holders(table: HoldingTable) {
  const next = (after: string) =>
    sql`select min(holder) from ${sql.table(table)} where holder <> '' and holder > ${sql.raw(after)}`;
  return sql<{ name: string }>`(with recursive holders (name) as (${next("''")}
    union all select (${next("holders.name")}) from holders where holders.name is not null)
    select name from holders where name is not null)`;
}
