import { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { insertedHolder, insertedWake } from "../sql/inserted-head.js";
import { periodMs } from "../sql/periods.js";
import type { AppendRow, ConversationWriteRow, LogRow, NewTaskRow, SnapshotRow, StatusRow } from "../sql/rows.js";
import { clockText } from "./dialect.js";

// The statement of a flush, and its parameters. Rows arrive as arrays, one for each column, and all payloads as one value of
// bytes, in which each row names its part. The statement locks the tasks of the appends in the order of their keys, judges
// each append by its fence, inserts new tasks unless their id or name exists, and then writes logs, snapshots, counters and
// conversations of those that passed. So a write that is refused changes nothing and costs the others nothing.

/** The array columns of a flush's appends and creations, in the order of the parameters. */
const appendColumns = {
  key: "bigint",
  epoch: "bigint",
  seq: "bigint",
  to_seq: "bigint",
  log_count: "bigint",
  log_format: "bigint",
  log_at: "int",
  log_length: "int",
  snap_seq: "bigint",
  snap_format: "bigint",
  snap_at: "int",
  snap_length: "int",
  state: "bigint",
  status_time: "bigint",
  summary_at: "int",
  summary_length: "int",
  turn_seq: "bigint",
  // The inbox counter that the end of a turn has seen; null when the write ends none.
  end_put: "bigint",
  wake_at: "bigint",
  claim_turn: "bigint",
  claim_holder: "text",
  // Offset of the entries it takes among those of all writes.
  take_from: "int",
  take_to: "int",
} as const;

const createColumns = {
  id: "text",
  context_id: "text",
  agent: "text",
  tenant: "text",
  owner: "text",
  name: "text",
  incarnation: "text",
  holder: "text",
  version: "text",
  state: "bigint",
  status_time: "bigint",
  summary_at: "int",
  summary_length: "int",
  seq: "bigint",
  turn_seq: "bigint",
  wake_at: "bigint",
  log_count: "bigint",
  log_format: "bigint",
  log_at: "int",
  log_length: "int",
  snap_seq: "bigint",
  snap_format: "bigint",
  snap_at: "int",
  snap_length: "int",
} as const;

/** The array columns of entries of conversations: of an append, of a creation, or by themselves. */
const entryColumns = {
  of_key: "bigint",
  of_id: "text",
  agent: "text",
  tenant: "text",
  owner: "text",
  context_id: "text",
  max_entries: "bigint",
  used_at: "bigint",
  expires_at: "bigint",
  kind: "bigint",
  at: "bigint",
  task_id: "text",
  item_id: "text",
  bytes: "bigint",
  format: "bigint",
  entry_at: "int",
  entry_length: "int",
} as const;

/** The parameters after those. `bytes`: all payloads concatenated. `now`: the store's clock, or null. */
const extraParameters = { takes: "text[]", bytes: "bytea", shard: "text", now: "bigint" } as const;

const appendNames = Object.keys(appendColumns);
const createNames = Object.keys(createColumns);
const entryNames = Object.keys(entryColumns);

function arrays(columns: Readonly<Record<string, string>>, before: number): string {
  return Object.values(columns)
    .map((type, index) => `$${before + index + 1}::${type}[]`)
    .join(", ");
}

function extraParameter(name: keyof typeof extraParameters): string {
  const index = Object.keys(extraParameters).indexOf(name);
  return `$${appendNames.length + createNames.length + entryNames.length + index + 1}::${extraParameters[name]}`;
}

const terminal = Object.values(TaskState)
  .filter((state): state is TaskState => typeof state === "number" && isTerminal(state))
  .join(", ");

const payload = (part: "log" | "snap" | "summary" | "entry", row: string): string =>
  `substring(${extraParameter("bytes")} from ${row}.${part}_at for ${row}.${part}_length)`;

// The statement reads the database as of its start, except for rows that it locks, which it sees as they are then. So
// it does not see entries put into a task's inbox while it waited for the task's row, and a write that ends the task
// would leave them there. Such a write is repeated.
const appends = `
w as materialized (select * from unnest(${arrays(appendColumns, 0)}) as w(${appendNames.join(", ")})),
locked as materialized (
  select w.*, t.agent, t.tenant, t.owner, t.state as old_state, t.status_time as old_time, t.inbox_put, t.holder, t.finished_at,
    coalesce(w.state, t.state) in (${terminal}) as terminal
  from w cross join lateral (
    select * from trivium_tasks t where t.key = w.key and t.epoch = w.epoch and t.seq = w.seq for update
  ) t
),
judged as materialized (
  select l.*, case
    when l.end_put <> l.inbox_put and not l.terminal then 'inboxMoved'
    when case when l.take_from is null then false else l.take_to - l.take_from + 1 > (
      select count(*) from (
        select 1 from trivium_inbox i
        where i.key = l.key and i.id = any((${extraParameter("takes")})[l.take_from:l.take_to]) for update
      ) waiting
    ) end then 'inboxMoved'
    when l.terminal and l.inbox_put <> (select s.inbox_put from trivium_tasks s where s.key = l.key) then 'again'
    else 'stored' end as verdict
  from locked l
),
applied as (
  update trivium_tasks t set
    seq = g.to_seq,
    epoch = g.epoch + case when g.claim_turn is null then 0 else 1 end,
    holder = case when g.end_put is not null then '' else coalesce(g.claim_holder, g.holder) end,
    turn = coalesce(g.claim_turn, t.turn),
    turn_seq = coalesce(g.turn_seq, t.turn_seq),
    state = coalesce(g.state, t.state),
    status_time = greatest(t.status_time, g.status_time),
    summary = case when g.state is null then t.summary else ${payload("summary", "g")} end,
    summary_time = case when g.state is null then t.summary_time else greatest(t.status_time, g.status_time) end,
    wake_at = case
      when g.terminal then null when g.end_put is not null then g.wake_at when g.claim_turn is null then t.wake_at
    end,
    finished_at = case when g.finishes then clock.now else t.finished_at end,
    logged_at = case when g.finishes then clock.now else t.logged_at end
  from clock, (
    select *, terminal and finished_at is null
      and (end_put is not null or coalesce(claim_holder, holder) = '') as finishes
    from judged where verdict = 'stored'
  ) g
  where t.key = g.key
),
taken as (
  delete from trivium_inbox i using judged g
  where g.verdict = 'stored' and (g.terminal or g.take_from is not null) and i.key = g.key
    and (g.terminal or i.id = any((${extraParameter("takes")})[g.take_from:g.take_to]))
)`;

const creations = `
n as materialized (
  select * from unnest(${arrays(createColumns, appendNames.length)}) with ordinality as n(${createNames.join(", ")}, place)
),
inserted as (
  insert into trivium_tasks (
    id, context_id, agent, tenant, owner, name, incarnation, holder, version, state, status_time, seq, turn_seq, wake_at,
    epoch, turn, inbox_put, compacted, finished_at, logged_at, summary, summary_time
  )
  select id, context_id, agent, tenant, owner, name, incarnation, holder, version, state, status_time, seq, turn_seq, wake_at,
    1, 1, 0, 0, ended, ended, ${payload("summary", "n")}, status_time
  from n cross join lateral (
    select case when n.state in (${terminal}) and n.holder = '' then clock.now end as ended from clock
  ) e
  order by place
  on conflict do nothing
  returning key, id, agent, tenant, owner, state, status_time, holder
),
bodies as materialized (
  select key, to_seq as seq, log_count, log_format, log_at, log_length, snap_seq, snap_format, snap_at, snap_length
  from judged where verdict = 'stored'
  union all
  select b.key, n.seq, log_count, log_format, log_at, log_length, snap_seq, snap_format, snap_at, snap_length
  from inserted b join n on n.id = b.id
)`;

// Every writer updates counters in the same order, states before periods, so that no two writers deadlock. A write that
// leaves the numbers unchanged, such as a chunk, updates none.
const otherTables = `
logged as (
  insert into trivium_log (key, seq, count, format, payload)
  select b.key, b.seq, b.log_count, b.log_format, ${payload("log", "b")} from bodies b where b.log_count is not null
),
folded as (
  insert into trivium_snapshots (key, seq, format, payload)
  select b.key, b.snap_seq, b.snap_format, ${payload("snap", "b")} from bodies b where b.snap_seq is not null
  on conflict (key) do update set seq = excluded.seq, format = excluded.format, payload = excluded.payload
),
changes as materialized (
  select agent, tenant, owner, old_time / ${periodMs} as period, old_state as state, -1 as change
  from judged where verdict = 'stored' and state is not null
  union all
  select agent, tenant, owner, greatest(old_time, status_time) / ${periodMs}, state, 1
  from judged where verdict = 'stored' and state is not null
  union all
  select agent, tenant, owner, status_time / ${periodMs}, state, 1 from inserted
),
counted as (
  insert into trivium_counts (agent, tenant, owner, state, shard, count)
  select agent, tenant, owner, state, ${extraParameter("shard")}, sum(change) from changes
  group by agent, tenant, owner, state having sum(change) <> 0
  order by agent, tenant, owner, state
  on conflict (agent, tenant, owner, state, shard) do update set count = trivium_counts.count + excluded.count
  returning 1
),
dated as (
  insert into trivium_periods (agent, tenant, owner, period, state, shard, count)
  select agent, tenant, owner, period, state, ${extraParameter("shard")}, sum(change)
  from changes cross join (select count(*) from counted) before
  group by agent, tenant, owner, period, state having sum(change) <> 0
  order by agent, tenant, owner, period, state
  on conflict (agent, tenant, owner, period, state, shard) do update set count = trivium_periods.count + excluded.count
  returning 1
)`;

// Contexts are locked after the counters, in one order.
const conversations = `
entries as materialized (
  select * from unnest(${arrays(entryColumns, appendNames.length + createNames.length)})
    with ordinality as e(${entryNames.join(", ")}, place)
  where of_key is null and of_id is null
    or exists (select 1 from judged j where j.key = e.of_key and j.verdict = 'stored')
    or exists (select 1 from inserted b where b.id = e.of_id)
),
used as (
  insert into trivium_contexts (
    agent, tenant, owner, context_id, last, dropped, hidden, bytes, value_bytes, max_entries, used_at, expires_at
  )
  select agent, tenant, owner, context_id, count(*), 0, 0, sum(bytes), 0, max(max_entries), max(used_at),
    case when count(*) = count(expires_at) then max(expires_at) end
  from entries cross join (select count(*) from dated) before
  group by agent, tenant, owner, context_id
  order by agent, tenant, owner, context_id
  on conflict (agent, tenant, owner, context_id) do update set last = trivium_contexts.last + excluded.last,
    bytes = trivium_contexts.bytes + excluded.bytes, max_entries = excluded.max_entries, used_at = excluded.used_at,
    expires_at = excluded.expires_at
  returning key, agent, tenant, owner, context_id, last
),
recorded as (
  insert into trivium_conversations (context, number, kind, at, task_id, item_id, bytes, format, payload)
  select u.key, u.last + 1 - row_number() over (partition by u.key order by s.place desc),
    s.kind, s.at, s.task_id, s.item_id, s.bytes, s.format, ${payload("entry", "s")}
  from entries s join used u using (agent, tenant, owner, context_id)
)`;

/**
 * Applies the appends, each to the row it has locked in key order, and the creations. Returns a row with the outcome of
 * each append whose fence held, and one for each created task; the others return none.
 */
export const flushText = `with
clock as materialized (select coalesce(${extraParameter("now")}, ${clockText}) as now),
${appends},
${creations},
${otherTables},
${conversations}
select key, null as id, verdict, false as live from judged
union all
select b.key, b.id, 'inserted', exists (
  select 1 from trivium_instances i cross join clock where i.name = b.holder and i.expires_at > clock.now
) from inserted b`;

type Cell = string | number | null;
type AppendCells = Readonly<Record<keyof typeof appendColumns, Cell>>;
type CreateCells = Readonly<Record<keyof typeof createColumns, Cell>>;
type EntryCells = Readonly<Record<keyof typeof entryColumns, Cell>>;

/** A new task of a flush, with the values that the database does not supply. */
export interface InsertRow {
  readonly row: NewTaskRow;
  readonly incarnation: string;
}

interface FlushRows {
  /** Sorted by key, each key once: rows are locked in this order. */
  readonly appends: readonly AppendRow[];
  readonly inserts: readonly InsertRow[];
  /** Entries that belong to neither. */
  readonly conversations: readonly ConversationWriteRow[];
}

/** The parameters of a flush statement before the shard and the time: see `flushText`. */
export function flushValues({ appends, inserts, conversations }: FlushRows): readonly unknown[] {
  const payloads = new Payloads();
  const takes: string[] = [];
  const appendCells = appends.map((row) => toAppendCells(row, payloads, takes));
  const createCells = inserts.map((insert) => toInsertCells(insert, payloads));
  const entryCells = [
    ...appends.flatMap(({ key, conversation }) => toEntryCells(conversation, payloads, { key })),
    ...inserts.flatMap(({ row: { id, conversation } }) => toEntryCells(conversation, payloads, { id })),
    ...conversations.flatMap((conversation) => toEntryCells(conversation, payloads)),
  ];
  return [
    ...toColumns(appendColumns, appendCells),
    ...toColumns(createColumns, createCells),
    ...toColumns(entryColumns, entryCells),
    takes,
    payloads.concat(),
  ];
}

/** The concatenated payloads of a flush, which the driver sends as they are. */
class Payloads {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  /** Returns the payload's 1-based offset. */
  add(bytes: Uint8Array): number {
    const at = this.#length + 1;
    this.#parts.push(bytes);
    this.#length += bytes.length;
    return at;
  }

  concat(): Uint8Array {
    return Buffer.concat(this.#parts, this.#length);
  }
}

function toAppendCells(row: AppendRow, payloads: Payloads, takes: string[]): AppendCells {
  const { key, epoch, seq, claim, end } = row;
  // An entry named twice is taken once.
  const entryIds = [...new Set(row.takes)];
  const from = takes.length + 1;
  takes.push(...entryIds);
  return {
    key,
    epoch,
    seq,
    to_seq: row.log?.seq ?? seq,
    ...toBodyCells(row, payloads),
    ...toStatusCells(row.status, payloads),
    end_put: end?.inboxPut ?? null,
    wake_at: end?.park?.wakeAt ?? null,
    claim_turn: claim?.turn ?? null,
    claim_holder: claim?.holder ?? null,
    take_from: entryIds.length === 0 ? null : from,
    take_to: entryIds.length === 0 ? null : takes.length,
  };
}

function toInsertCells({ row, incarnation }: InsertRow, payloads: Payloads): CreateCells {
  const { id, contextId, scope, name, version, status } = row;
  return {
    id,
    context_id: contextId,
    agent: scope.agent,
    tenant: scope.tenant,
    owner: scope.owner,
    name: name ?? null,
    incarnation,
    holder: insertedHolder(row),
    version,
    ...toBodyCells(row, payloads),
    ...toStatusCells(status, payloads),
    seq: row.log?.seq ?? 0,
    turn_seq: row.turnSeq,
    wake_at: insertedWake(row) ?? null,
  };
}

function toStatusCells(status: StatusRow | undefined, payloads: Payloads) {
  const summary = status?.summary;
  return {
    state: status?.state ?? null,
    status_time: status?.time ?? null,
    summary_at: summary === undefined ? null : payloads.add(summary),
    summary_length: summary?.length ?? null,
  };
}

/** `of`: the append or the creation that they come with. */
function toEntryCells(
  write: ConversationWriteRow | undefined,
  payloads: Payloads,
  of: { readonly key?: number; readonly id?: string } = {},
): readonly EntryCells[] {
  if (write === undefined) return [];
  const { scope, contextId, maxEntries, usedAt, expiresAt, entries } = write;
  return entries.map(({ kind, at, taskId, id, bytes, payload }) => ({
    of_key: of.key ?? null,
    of_id: of.id ?? null,
    agent: scope.agent,
    tenant: scope.tenant,
    owner: scope.owner,
    context_id: contextId,
    max_entries: maxEntries,
    used_at: usedAt,
    expires_at: expiresAt ?? null,
    kind,
    at,
    task_id: taskId,
    item_id: id,
    bytes,
    format: payload?.format ?? 0,
    entry_at: payload === undefined ? null : payloads.add(payload.bytes),
    entry_length: payload?.bytes.length ?? null,
  }));
}

interface Body {
  readonly log: LogRow | undefined;
  readonly snapshot: SnapshotRow | undefined;
  readonly turnSeq: number;
}

function toBodyCells({ log, snapshot, turnSeq }: Body, payloads: Payloads) {
  return {
    log_count: log?.count ?? null,
    log_format: log?.format ?? null,
    log_at: log === undefined ? null : payloads.add(log.bytes),
    log_length: log?.bytes.length ?? null,
    snap_seq: snapshot?.seq ?? null,
    snap_format: snapshot?.format ?? null,
    snap_at: snapshot === undefined ? null : payloads.add(snapshot.bytes),
    snap_length: snapshot?.bytes.length ?? null,
    turn_seq: turnSeq === 0 ? null : turnSeq,
  };
}

function toColumns<Name extends string>(
  columns: Readonly<Record<Name, string>>,
  rows: readonly Readonly<Record<Name, Cell>>[],
): unknown[] {
  const names = Object.keys(columns) as Name[];
  return names.map((name) => {
    const cells = rows.map((row) => row[name]);
    // The driver escapes each element, which numbers do not need.
    return columns[name] === "text" ? cells : `{${cells.map((cell) => cell ?? "null").join(",")}}`;
  });
}
