import { type SqlBool, sql } from "kysely";
import type { Head, TaskLog } from "../../../core/ports.js";
import type { Scope } from "../../../protocol/context.js";
import { compile, type Params } from "../compile.js";
import { type DbContext, inTransaction, type LogRange } from "../dialect.js";
import { type HeadRow, headFrom, selectHeads } from "../head-row.js";
import { type Backend, type LogRow, type SnapshotRow, type StoredTaskRow, terminalStates } from "../rows.js";
import { inScope } from "../scope.js";

export function taskQueries(context: DbContext): Omit<Pick<Backend, keyof TaskLog>, "create" | "append" | "list"> {
  return {
    taskNamed: async (scope, name) => (await idByName.first(context, { ...scope, name }))?.id,
    read: (scope, id) => readTask(context, scope, id),
    async head(scope, id) {
      const row = await headById.first(context, { ...scope, id });
      return row === undefined ? undefined : headFrom(row);
    },
    recordsAfter: (key, after, limit) => recordsAfter(context, key, { after, limit }),
    recordsAt: (key, seqs) => recordsAt(context, key, seqs),
    compact: (key, upTo, keep) => compactLog(context, { key, upTo, keep }),
    heads: async (keys) => (keys.length === 0 ? [] : (await headsByKey.all(context, { keys })).map(headFrom)),
    unfinished: async (scope) => (await countUnfinished.first(context, scope))?.count ?? 0,
  };
}

// A log only grows, and its head says how far. So a head with its snapshot, and the log rows read afterwards, are
// consistent unless rows between the two were dropped meanwhile. Then rows are missing and both are read again.

/** Number of attempts. Only retention drops rows, and never the same ones twice. */
const attempts = 5;

const headById = compile((context, params: Params<TaskId>) =>
  selectHeads(context).where(inScope("t", params)).where("t.id", "=", params.id),
);

interface TaskId extends Scope {
  readonly id: string;
}

const headsByKey = compile((context, { keys }: Params<{ readonly keys: readonly number[] }>) =>
  selectHeads(context).where(context.dialect.isOneOf("t.key", keys)),
);

const countUnfinished = compile(({ db }, scope: Params<Scope>) =>
  db
    .selectFrom("trivium_counts as c")
    .select(sql<number>`cast(coalesce(sum(c.count), 0) as bigint)`.as("count"))
    .where(inScope("c", scope))
    .where("c.state", "not in", terminalStates),
);

const idByName = compile(({ db }, params: Params<Scope & { readonly name: string }>) =>
  db.selectFrom("trivium_tasks as t").select("t.id").where(inScope("t", params)).where("t.name", "=", params.name),
);

function readTask(context: DbContext, scope: Scope, id: string): Promise<StoredTaskRow | undefined> {
  return retryTorn(async () => {
    const row = await taskById.first(context, { ...scope, id });
    if (row === undefined) return undefined;
    const [task] = await withLogs(context, [row]);
    return task ?? "torn";
  });
}

const taskById = compile((context, params: Params<TaskId>) =>
  selectTasks(context).where(inScope("t", params)).where("t.id", "=", params.id),
);

/** Heads with their snapshots, aliased `s`. */
function selectTasks(context: DbContext) {
  return selectHeads(context)
    .leftJoin("trivium_snapshots as s", "s.key", "t.key")
    .select(["s.seq as snapshot_seq", "s.format as snapshot_format", "s.payload as snapshot_payload"]);
}

/** A row of `selectTasks`. */
export interface TaskRow extends HeadRow {
  readonly snapshot_seq: number | null;
  readonly snapshot_format: number | null;
  readonly snapshot_payload: Uint8Array | null;
}

/** Adds the log rows after the snapshots. Leaves out tasks whose rows are no longer complete. */
export async function withLogs(context: DbContext, rows: readonly TaskRow[]): Promise<readonly StoredTaskRow[]> {
  const tails = rows
    .map(({ key, seq, snapshot_seq }) => ({ key, after: snapshot_seq ?? 0, upto: seq }))
    .filter(({ after, upto }) => after < upto);
  const logs = await readRanges(context, tails);
  return rows.flatMap((row) => {
    const snapshot = snapshotFrom(row);
    const log = logs.get(row.key) ?? [];
    return isWhole(log, snapshot?.seq ?? 0, row.seq) ? { head: headFrom(row), snapshot, log } : [];
  });
}

function recordsAfter(
  context: DbContext,
  key: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<{ readonly head: Head; readonly log: readonly LogRow[] } | "compacted" | undefined> {
  return retryTorn(async () => {
    const row = await headByKey.first(context, { key });
    if (row === undefined) return undefined;
    if (after < row.compacted) return "compacted";
    const head = headFrom(row);
    if (after >= row.seq || limit <= 0) return { head, log: [] };
    const last = Math.min(row.seq, after + limit);
    const log = await logUpTo.all(context, { key, after, upto: row.seq, last });
    // Rows are dropped from the start, so that what was read is whole as far as it goes.
    const end = log.at(-1)?.seq ?? after;
    return end > after && isWhole(log, after, Math.min(last, end)) ? { head, log } : "torn";
  });
}

async function recordsAt(context: DbContext, key: number, seqs: readonly number[]): Promise<readonly LogRow[]> {
  const rows = new Map<number, LogRow>();
  for (const seq of seqs) {
    const row = await rowAt.first(context, { key, seq });
    if (row !== undefined) rows.set(row.seq, row);
  }
  return [...rows.values()];
}

/** The row that holds a record. */
const rowAt = compile(({ db }, { key, seq }: Params<{ readonly key: number; readonly seq: number }>) =>
  db
    .selectFrom("trivium_log as l")
    .select(["l.seq", "l.count", "l.format", "l.payload as bytes"])
    .where("l.key", "=", key)
    .where("l.seq", ">=", seq)
    .where(sql<SqlBool>`l.seq - l.count < ${seq}`)
    .orderBy("l.seq")
    .limit(1),
);

interface Compaction {
  readonly key: number;
  readonly upTo: number;
  readonly keep: readonly number[];
}

async function compactLog(context: DbContext, { key, upTo, keep }: Compaction): Promise<void> {
  await inTransaction(context, async (within) => {
    // The lock of the task's row comes first, as in every write.
    if ((await setCompacted.write(within, { key, upTo })) === 0) return;
    const rows = await recordsAt(within, key, keep);
    const [first = 0, second = first] = rows.map(({ seq }) => seq);
    await dropLog.write(within, { key, upTo, first, second });
  });
}

const setCompacted = compile(({ db }, { key, upTo }: Params<Pick<Compaction, "key" | "upTo">>) =>
  db
    .updateTable("trivium_tasks")
    .set({ compacted: upTo })
    .where("key", "=", key)
    .where("compacted", "<", upTo)
    .where(
      sql<SqlBool>`exists (select 1 from trivium_snapshots as s where s.key = trivium_tasks.key and s.seq >= ${upTo})`,
    ),
);

const dropLog = compile(
  (
    { db },
    { key, upTo, first, second }: Params<Pick<Compaction, "key" | "upTo"> & Record<"first" | "second", number>>,
  ) =>
    db
      .deleteFrom("trivium_log")
      .where("key", "=", key)
      .where("seq", "<=", upTo)
      .where("seq", "<>", first)
      .where("seq", "<>", second),
);

const headByKey = compile((context, { key }: Params<{ readonly key: number }>) =>
  selectHeads(context).where("t.key", "=", key),
);

/** Repeats a read while its answer is torn. */
export async function retryTorn<T>(read: () => Promise<T | "torn">): Promise<T> {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const result = await read();
    if (result !== "torn") return result;
  }
  throw new Error("the log of a task has gaps: rows are missing that its head counts");
}

/** Whether the rows hold every record after `after` up to `upto`. */
function isWhole(log: readonly LogRow[], after: number, upto: number): boolean {
  let last = after;
  for (const { seq, count } of log) {
    if (seq - count > last) return false;
    last = seq;
  }
  return last >= upto;
}

function snapshotFrom(row: TaskRow): SnapshotRow | undefined {
  const { snapshot_seq: seq, snapshot_format: format, snapshot_payload: bytes } = row;
  return seq === null || format === null || bytes === null ? undefined : { seq, format, bytes };
}

async function readRanges(context: DbContext, ranges: readonly LogRange[]): Promise<Map<number, LogRow[]>> {
  const logs = new Map<number, LogRow[]>(ranges.map(({ key }) => [key, []]));
  const [only] = ranges;
  if (only === undefined) return logs;
  const rows = ranges.length === 1 ? selectLog.all(context, only) : selectLogs.all(context, { ranges });
  for (const { key, seq, count, format, bytes } of await rows) logs.get(key)?.push({ seq, count, format, bytes });
  return logs;
}

const selectLog = compile(({ db }, { key, after, upto }: Params<LogRange>) =>
  db
    .selectFrom("trivium_log as l")
    .select(["l.key", "l.seq", "l.count", "l.format", "l.payload as bytes"])
    .where("l.key", "=", key)
    .where("l.seq", ">", after)
    .where("l.seq", "<=", upto)
    .orderBy("l.seq"),
);

const selectLogs = compile(({ db, dialect }, { ranges }: Params<{ readonly ranges: readonly LogRange[] }>) =>
  db
    .selectFrom(dialect.ranges(ranges).as("r"))
    .innerJoin("trivium_log as l", (join) =>
      join.onRef("l.key", "=", "r.key").onRef("l.seq", ">", "r.after").onRef("l.seq", "<=", "r.upto"),
    )
    .select(["l.key", "l.seq", "l.count", "l.format", "l.payload as bytes"])
    .orderBy("l.key")
    .orderBy("l.seq"),
);

/** A read of records ends before the row that takes it over this size, and has at least one row. */
export const readMaxBytes = 8 << 20;

/** The rows of a range up to the one with the record `last`, as far as their sizes allow. */
const logUpTo = compile(({ db }, { key, after, upto, last }: Params<LogRange & { readonly last: number }>) => {
  const range = db
    .selectFrom("trivium_log as l")
    .select([
      "l.seq",
      sql<number>`sum(length(l.payload)) over (order by l.seq)`.as("bytes"),
      sql<number>`min(l.seq) over ()`.as("first"),
    ])
    .where("l.key", "=", key)
    .where("l.seq", ">", after)
    .where("l.seq", "<=", (where) =>
      where.fn.coalesce(
        where
          .selectFrom("trivium_log as e")
          .select("e.seq")
          .where("e.key", "=", key)
          .where("e.seq", ">=", last)
          .orderBy("e.seq")
          .limit(1),
        upto,
      ),
    )
    .where("l.seq", "<=", upto);
  return db
    .selectFrom("trivium_log as r")
    .innerJoin(range.as("w"), "w.seq", "r.seq")
    .select(["r.seq", "r.count", "r.format", "r.payload as bytes"])
    .where("r.key", "=", key)
    .where(sql<SqlBool>`(w.bytes <= ${sql.lit(readMaxBytes)} or w.seq = w.first)`)
    .orderBy("r.seq");
});
