import { sql } from "kysely";
import type { ContextSweep } from "./context-sweep.js";
import { type DbContext, inTransaction } from "./dialect.js";
import { foldPeriods, periodMs } from "./periods.js";
import { type PruneBatch, type Retention, terminalStates } from "./rows.js";
import type { Database } from "./schema.js";

// What retention drops, in batches of at most `limit` rows, each kind in its own transaction.
//
// A task goes log first: the rows of its log that its snapshot includes, then its rows in all tables with its head. A batch
// that reaches its limit in the middle of a log notes how far it came (`compacted`), and the next one goes on there. Where
// several processes write at once, each locks the tasks it takes and skips those of others.

/**
 * Drops what is past its retention: at most `limit` tasks, log rows and sends, and folded counter rows. Each kind has
 * its own transaction, so that others never wait long.
 */
export async function prune(
  context: DbContext,
  { retention, limit, sweep }: { readonly retention: Retention; readonly limit: number; readonly sweep: ContextSweep },
): Promise<PruneBatch> {
  const tasks = await inTransaction(context, (within) => pruneTasks(within, retention, limit));
  const rest = limit - tasks.logs;
  const logs = rest > 0 ? await inTransaction(context, (within) => pruneLogs(within, retention, rest)) : noRows;
  const sends = await pruneSends(context, retention, limit);
  const foldedRows = await foldPeriods(context, limit);
  const rates = await pruneRates(context, limit);
  const contexts = await sweep(context, limit);
  return {
    tasks: tasks.tasks,
    logs: tasks.logs + logs.logs,
    entries: contexts.entries,
    more:
      tasks.more || logs.more || rest <= 0 || sends >= limit || rates >= limit || foldedRows >= limit || contexts.more,
  };
}

type PrunedTasks = Omit<PruneBatch, "entries">;

const noRows: PrunedTasks = { tasks: 0, logs: 0, more: false };

async function pruneTasks(context: DbContext, retention: Retention, limit: number): Promise<PrunedTasks> {
  const due = await tasksDue(context, retention, limit);
  if (due.length === 0) return noRows;
  const { rows, emptyKeys } = await dropFolded(context, due, limit);
  if (emptyKeys.length > 0) await deleteTasks(context, emptyKeys);
  return { tasks: emptyKeys.length, logs: rows, more: due.length >= limit || emptyKeys.length < due.length };
}

/** Finished tasks past their retention or over the maximum, oldest first. */
async function tasksDue(context: DbContext, { tasksMs, tasksMax }: Retention, limit: number): Promise<number[]> {
  const oldKeys = tasksMs === undefined ? [] : await finishedTasks(context, { before: tasksMs, limit });
  if (tasksMax === undefined) return oldKeys;
  const excess = Math.min(limit, (await countFinished(context)) - tasksMax);
  return excess <= oldKeys.length ? oldKeys : finishedTasks(context, { before: undefined, limit: excess });
}

async function finishedTasks(
  { db, dialect }: DbContext,
  { before, limit }: { readonly before: number | undefined; readonly limit: number },
): Promise<number[]> {
  const rows = await db
    .selectFrom("trivium_tasks")
    .select("key")
    .where("finished_at", "is not", null)
    .$if(before !== undefined, (select) =>
      select.where("finished_at", "<=", sql<number>`${dialect.now()} - ${before ?? 0}`),
    )
    .orderBy("finished_at")
    .limit(limit)
    .$if(dialect.locksRows, (select) => select.forUpdate().skipLocked())
    .execute();
  return rows.map(({ key }) => key);
}

async function countFinished({ db }: DbContext): Promise<number> {
  const row = await db
    .selectFrom("trivium_counts")
    .select(sql<number>`cast(coalesce(sum(count), 0) as bigint)`.as("count"))
    .where("state", "in", terminalStates)
    .executeTakeFirst();
  return row?.count ?? 0;
}

/** Logs of finished tasks, as far as a snapshot includes them. */
async function pruneLogs(context: DbContext, { logsMs }: Retention, limit: number): Promise<PrunedTasks> {
  if (logsMs === undefined) return noRows;
  const { db, dialect } = context;
  const due = await db
    .selectFrom("trivium_tasks")
    .select("key")
    .where("logged_at", "is not", null)
    .where("logged_at", "<=", sql<number>`${dialect.now()} - ${logsMs}`)
    .orderBy("logged_at")
    .limit(limit)
    .$if(dialect.locksRows, (select) => select.forUpdate().skipLocked())
    .execute();
  if (due.length === 0) return noRows;
  const keys = due.map(({ key }) => key);
  const { rows, emptyKeys } = await dropFolded(context, keys, limit);
  if (emptyKeys.length > 0) {
    const update = db.updateTable("trivium_tasks").set({ logged_at: null });
    await update.where(dialect.isOneOf("key", emptyKeys)).execute();
  }
  return { tasks: 0, logs: rows, more: due.length >= limit || emptyKeys.length < due.length };
}

interface DroppedRows {
  readonly rows: number;
  /** Tasks with no row left that a snapshot includes. */
  readonly emptyKeys: readonly number[];
}

/** Drops rows that a snapshot includes, from the start of each log. */
async function dropFolded(context: DbContext, keys: readonly number[], limit: number): Promise<DroppedRows> {
  const folded = await selectFolded(context, keys, limit + 1).execute();
  const next = folded.length > limit ? folded.pop() : undefined;
  const emptyKeys = next === undefined ? keys : keys.filter((key) => key < next.key);
  await dropAllFolded(context, emptyKeys);
  const last = folded.findLast(({ key }) => key === next?.key);
  if (last !== undefined) {
    const { key, seq } = last;
    await context.db.deleteFrom("trivium_log").where("key", "=", key).where("seq", "<=", seq).execute();
    await context.db.updateTable("trivium_tasks").set({ compacted: seq }).where("key", "=", key).execute();
  }
  return { rows: folded.length, emptyKeys };
}

async function dropAllFolded({ db, dialect }: DbContext, keys: readonly number[]): Promise<void> {
  if (keys.length === 0) return;
  const snapshotSeq = (key: string) =>
    sql<number>`(select s.seq from trivium_snapshots as s where s.key = ${sql.ref(key)})`;
  await db
    .deleteFrom("trivium_log")
    .where(dialect.isOneOf("key", keys))
    .where("seq", "<=", snapshotSeq("trivium_log.key"))
    .execute();
  await db
    .updateTable("trivium_tasks")
    .set((set) => ({ compacted: set.fn.coalesce(snapshotSeq("trivium_tasks.key"), set.ref("compacted")) }))
    .where(dialect.isOneOf("key", keys))
    .execute();
}

function selectFolded({ db, dialect }: DbContext, keys: readonly number[], limit: number) {
  return db
    .selectFrom("trivium_log as l")
    .innerJoin("trivium_snapshots as s", (join) => join.onRef("s.key", "=", "l.key").onRef("s.seq", ">=", "l.seq"))
    .select(["l.key", "l.seq"])
    .where(dialect.isOneOf("l.key", keys))
    .orderBy("l.key")
    .orderBy("l.seq")
    .limit(limit);
}

/** Deletes tasks with their rows in all tables. */
async function deleteTasks(context: DbContext, keys: readonly number[]): Promise<void> {
  const { db, dialect } = context;
  for (const table of ["trivium_log", "trivium_snapshots", "trivium_inbox", "trivium_push_configs"] as const) {
    await db.deleteFrom(table).where(dialect.isOneOf("key", keys)).execute();
  }
  await countLess(context, keys);
  await db.deleteFrom("trivium_tasks").where(dialect.isOneOf("key", keys)).execute();
}

/** The columns of the counter tables, and how each is computed from a task. */
const counters = {
  trivium_counts: { agent: "agent", tenant: "tenant", owner: "owner", state: "state" },
  trivium_periods: {
    agent: "agent",
    tenant: "tenant",
    owner: "owner",
    period: `status_time / ${periodMs}`,
    state: "state",
  },
} as const satisfies Partial<Record<keyof Database, object>>;

/** Rows are updated in the order that every writer uses, so that none deadlock. */
async function countLess({ db, dialect }: DbContext, keys: readonly number[]): Promise<void> {
  for (const [table, columns] of Object.entries(counters)) {
    const names = sql.join(Object.keys(columns).map((name) => sql.ref(name)));
    const values = sql.join(Object.values(columns).map((value) => sql.raw(value)));
    await sql`
      insert into ${sql.table(table)} (${names}, shard, count)
      select ${values}, cast(${dialect.shard} as text), -count(*) from trivium_tasks
      where ${dialect.isOneOf("key", keys)} group by ${values} order by ${values}
      on conflict (${names}, shard) do update set count = ${sql.ref(`${table}.count`)} + excluded.count`.execute(db);
  }
}

async function pruneSends({ db, dialect }: DbContext, { sendsMs }: Retention, limit: number): Promise<number> {
  const oldSends = await db
    .selectFrom("trivium_sends")
    .select(["agent", "tenant", "owner", "message_id", "entry"])
    .where("began_at", "<=", sql<number>`${dialect.now()} - ${sendsMs}`)
    .orderBy("began_at")
    .limit(limit)
    .execute();
  for (const { agent, tenant, owner, message_id, entry } of oldSends) {
    await db
      .deleteFrom("trivium_sends")
      .where("agent", "=", agent)
      .where("tenant", "=", tenant)
      .where("owner", "=", owner)
      .where("message_id", "=", message_id)
      .where("entry", "=", entry)
      .execute();
  }
  return oldSends.length;
}

/** Windows that have ended. */
async function pruneRates({ db, dialect }: DbContext, limit: number): Promise<number> {
  if (!dialect.sharesRates) return 0;
  const expired = db
    .selectFrom("trivium_rates")
    .select("key")
    .where("expires_at", "<=", sql<number>`${dialect.now()}`)
    .orderBy("expires_at")
    .limit(limit)
    .forUpdate()
    .skipLocked();
  // An array, which is found by the primary key; a subquery would be joined with the whole table.
  const isEnded = sql<boolean>`${sql.ref("key")} = any(array(${expired}))`;
  const deleted = await db.deleteFrom("trivium_rates").where(isEnded).executeTakeFirst();
  return Number(deleted.numDeletedRows);
}
