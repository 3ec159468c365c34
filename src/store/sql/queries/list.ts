import { type SqlBool, sql } from "kysely";
import type { ListQuery } from "../../../core/ports.js";
import type { Scope } from "../../../protocol/context.js";
import { takeWithin } from "../../take-within.js";
import { compile, compileBy, type Params, type QueryInput } from "../compile.js";
import type { DbContext } from "../dialect.js";
import { headFrom, selectHeads } from "../head-row.js";
import { periodMs, toPeriod } from "../periods.js";
import { pickScope, type StoredTaskRow } from "../rows.js";
import { inScope } from "../scope.js";
import { retryTorn, type TaskRow, withLogs } from "./tasks.js";

export interface ListedTasks {
  readonly tasks: readonly StoredTaskRow[];
  readonly total: number;
  readonly more: boolean;
}

/** A page of tasks: one backward scan of the index that matches its filters. */
export async function listTasks(context: DbContext, scope: Scope, query: ListQuery): Promise<ListedTasks> {
  const args = readArgs(scope, query);
  const total = (await countFor(query).first(context, args))?.total ?? 0;
  return retryTorn(async () => {
    const rows = await pageFor(query).all(context, args);
    const page = takeWithin(rows.slice(0, query.limit), (row) => Number(row.snapshot_bytes ?? 0), query.maxBytes);
    const tasks = await withBodies(context, page);
    return tasks.length < page.length ? "torn" : { tasks, total, more: rows.length > page.length };
  });
}

/** Reads what the page left out, where it has no summary. Leaves out tasks whose rows are no longer complete. */
async function withBodies(context: DbContext, page: readonly ListedRow[]): Promise<readonly StoredTaskRow[]> {
  const missing = page.filter(({ summary }) => summary === null);
  const complete = await withLogs(context, await withLargeSnapshots(context, missing));
  if (missing.length === page.length) return complete;
  const byKey = new Map(complete.map((task) => [task.head.key, task]));
  return page.flatMap((row) =>
    row.summary === null
      ? (byKey.get(row.key) ?? [])
      : { head: headFrom(row), snapshot: undefined, summary: row.summary, log: [] },
  );
}

/** Larger snapshots are read one by one, once it is known which of them are on the page. */
const smallSnapshotBytes = 64 << 10;

interface ListedRow extends TaskRow {
  /** Set only in a list of summaries. Then the snapshot is left out. */
  readonly summary: Uint8Array | null;
  readonly snapshot_bytes: number | null;
}

/** Reads the snapshots that the page left out. One that was replaced meanwhile stays missing. */
async function withLargeSnapshots(context: DbContext, page: readonly ListedRow[]): Promise<readonly TaskRow[]> {
  const rows: TaskRow[] = [];
  for (const row of page) {
    const { key, snapshot_seq: seq, snapshot_payload: small } = row;
    const large = seq === null || small !== null ? undefined : await snapshotAt.first(context, { key, seq });
    rows.push(large === undefined ? row : { ...row, snapshot_payload: large.payload });
  }
  return rows;
}

const snapshotAt = compile(({ db }, { key, seq }: Params<{ readonly key: number; readonly seq: number }>) =>
  db.selectFrom("trivium_snapshots").select("payload").where("key", "=", key).where("seq", "=", seq),
);

/** The arguments of the statements. Members that the text does not name are ignored. */
interface PageArgs extends Scope {
  readonly contextId: string;
  readonly state: number;
  readonly since: number;
  /** The period of `since`, and the start of the next one. */
  readonly period: number;
  readonly periodEnd: number;
  readonly afterTime: number;
  readonly afterKey: number;
  readonly rows: number;
}

function readArgs(scope: Scope, query: ListQuery): PageArgs {
  const { contextId = "", state = 0, after, limit } = query;
  const since = Math.ceil(query.since ?? 0);
  const period = toPeriod(since);
  const times = { since, period, periodEnd: (period + 1) * periodMs };
  // One task beyond the page shows that another page follows.
  return { ...pickScope(scope), contextId, state, ...times, ...readCursor(after), rows: limit + 1 };
}

/** Status times are whole milliseconds: after a fractional time come the tasks before the next whole one. */
function readCursor({ statusTime, key }: NonNullable<ListQuery["after"]> = { statusTime: 0, key: 0 }) {
  const afterTime = Math.ceil(statusTime);
  return { afterTime, afterKey: afterTime === statusTime ? key : 0 };
}

type Filters = Omit<ListQuery, "limit">;
type Filter = keyof Filters;

const filterNames = ["contextId", "state", "since", "after", "summaries"] as const satisfies readonly Filter[];

/** The filters that are set, as one string. */
function describeShape(filters: Filters): string {
  return filterNames.filter((name) => filters[name] !== undefined && filters[name] !== false).join(" ");
}

function parseShape(shape: string): ReadonlySet<string> {
  return new Set<Filter>(filterNames.filter((name) => shape.split(" ").includes(name)));
}

const pages = compileBy((shape: string) => pageWith(parseShape(shape)));
const counts = compileBy((shape: string) => countWith(parseShape(shape)));

/** The statement for a page; its text depends on which filters are set. */
export function pageFor(filters: Filters) {
  return pages(describeShape(filters));
}

/** The statement for the number of tasks on all pages. */
export function countFor({ contextId, state, since }: Filters) {
  return counts(describeShape({ contextId, state, since }));
}

function pageWith(filters: ReadonlySet<string>) {
  return compile((context, params: Params<PageArgs>) => {
    const { contextId, state, since, afterTime, afterKey, rows } = params;
    const summary = filters.has("summaries")
      ? sql`case when t.summary_time = t.status_time then t.summary end`
      : sql`null`;
    const small = sql`length(s.payload) <= ${sql.lit(smallSnapshotBytes)}`;
    return selectHeads(context)
      .leftJoin("trivium_snapshots as s", "s.key", "t.key")
      .select(["s.seq as snapshot_seq", "s.format as snapshot_format"])
      .select(sql<Uint8Array | null>`${summary}`.as("summary"))
      .select(sql<number | null>`case when ${summary} is null then length(s.payload) end`.as("snapshot_bytes"))
      .select(
        sql<Uint8Array | null>`case when ${summary} is null and ${small} then s.payload end`.as("snapshot_payload"),
      )
      .where(inScope("t", params))
      .$if(filters.has("contextId"), (select) => select.where(inContext(context, contextId)))
      .$if(filters.has("state"), (select) => select.where(stateColumn(filters), "=", state))
      .$if(filters.has("since"), (select) => select.where("t.status_time", ">=", since))
      .$if(filters.has("after"), (select) =>
        select.where(sql<boolean>`(t.status_time, t.key) < (${afterTime}, ${afterKey})`),
      )
      .orderBy("t.status_time", "desc")
      .orderBy("t.key", "desc")
      .limit(rows);
  });
}

function inContext({ dialect }: DbContext, contextId: QueryInput<string>) {
  return dialect.rare(sql<SqlBool>`t.context_id = ${contextId}`);
}

/** With a context the planner must use the index of contexts: it cannot know that a context has fewer tasks than a state. */
function stateColumn(filters: ReadonlySet<string>) {
  return filters.has("contextId") ? sql<number>`t.state + 0` : sql<number>`t.state`;
}

function countWith(filters: ReadonlySet<string>) {
  if (filters.has("contextId")) {
    return compile((context, params: Params<PageArgs>) => selectFiltered(context, params, filters));
  }
  return filters.has("since") ? sumPeriods(filters) : sumCounts(filters);
}

function sumCounts(filters: ReadonlySet<string>) {
  return compile(({ db }, params: Params<PageArgs>) =>
    db
      .selectFrom("trivium_counts as c")
      .select(sql<number>`cast(coalesce(sum(c.count), 0) as bigint)`.as("total"))
      .where(inScope("c", params))
      .$if(filters.has("state"), (select) => select.where("c.state", "=", params.state)),
  );
}

/** Within the period of the time, the tasks after it are counted; the counters have the sum for later periods. */
function sumPeriods(filters: ReadonlySet<string>) {
  return compile((context, params: Params<PageArgs>) => {
    const { state, period, periodEnd } = params;
    const first = selectFiltered(context, params, filters).where("t.status_time", "<", periodEnd);
    return context.db
      .selectFrom("trivium_periods as p")
      .select(sql<number>`cast(coalesce(sum(p.count), 0) as bigint) + (${first})`.as("total"))
      .where(inScope("p", params))
      .where("p.period", ">", period)
      .$if(filters.has("state"), (select) => select.where("p.state", "=", state));
  });
}

/** Counts the matching tasks in the index of the page. */
function selectFiltered(context: DbContext, params: Params<PageArgs>, filters: ReadonlySet<string>) {
  const { contextId, state, since } = params;
  return context.db
    .selectFrom("trivium_tasks as t")
    .select(sql<number>`count(*)`.as("total"))
    .where(inScope("t", params))
    .$if(filters.has("contextId"), (select) => select.where(inContext(context, contextId)))
    .$if(filters.has("state"), (select) => select.where(stateColumn(filters), "=", state))
    .$if(filters.has("since"), (select) => select.where("t.status_time", ">=", since));
}
