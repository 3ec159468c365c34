import type { SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Scope } from "../../protocol/context.js";
import type { AppendRow } from "../sql/rows.js";
import type { SqliteConnection } from "./driver.js";

/** The parts of a head that an append needs. */
export interface WrittenHead extends Scope {
  readonly seq: number;
  readonly epoch: number;
  readonly holder: string;
  readonly state: number;
  readonly statusTime: number;
  readonly inboxPut: number;
  readonly turn: number;
  readonly turnSeq: number;
  readonly wakeAt: number | null;
  readonly finishedAt: number | null;
}

/** Indexed columns of a head, each written only when it changes. */
const indexedColumns = {
  state: "state",
  statusTime: "status_time",
  holder: "holder",
  wakeAt: "wake_at",
  finishedAt: "finished_at",
} as const;

const indexedNames = ["state", "statusTime", "holder", "wakeAt", "finishedAt"] as const;

/** The compiled statements of the hot path. */
export type Statements = ReturnType<typeof hotStatements>;

export function hotStatements(connection: SqliteConnection) {
  const updates = new Map<number, StatementSync>();
  const prepare = (text: string) => connection.prepare(text);
  return {
    insertTask: prepare(
      `insert into trivium_tasks (id, agent, tenant, owner, context_id, name, incarnation, version, seq, epoch, holder, state,
         status_time, turn, turn_seq, wake_at, finished_at, logged_at, summary, summary_time)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?)`,
    ),
    insertLog: prepare("insert into trivium_log (key, seq, count, format, payload) values (?, ?, ?, ?, ?)"),
    putSnapshot: prepare(
      `insert into trivium_snapshots (key, seq, format, payload) values (?, ?, ?, ?)
       on conflict (key) do update set seq = excluded.seq, format = excluded.format, payload = excluded.payload`,
    ),
    count: prepare(
      `insert into trivium_counts (agent, tenant, owner, state, shard, count) values (?, ?, ?, ?, '', ?)
       on conflict (agent, tenant, owner, state, shard) do update set count = count + excluded.count`,
    ),
    countPeriod: prepare(
      `insert into trivium_periods (agent, tenant, owner, period, state, shard, count) values (?, ?, ?, ?, ?, '', ?)
       on conflict (agent, tenant, owner, period, state, shard) do update set count = count + excluded.count`,
    ),
    useContext: prepare(
      `insert into trivium_contexts (agent, tenant, owner, context_id, last, dropped, hidden, bytes, value_bytes, max_entries,
         used_at, expires_at)
       values (?, ?, ?, ?, ?, 0, 0, ?, 0, ?, ?, ?)
       on conflict (agent, tenant, owner, context_id) do update set last = last + excluded.last,
         bytes = bytes + excluded.bytes, max_entries = excluded.max_entries, used_at = excluded.used_at,
         expires_at = excluded.expires_at
       returning key, last`,
    ),
    insertEntry: prepare(
      `insert into trivium_conversations (context, number, kind, at, task_id, item_id, bytes, format, payload)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    /** An append that changes only the number. */
    advance: prepare(
      `update trivium_tasks set seq = ?, turn_seq = iif(? = 0, turn_seq, ?) where key = ? and epoch = ? and seq = ?`,
    ),
    head: prepare(
      `select agent, tenant, owner, seq, epoch, holder, state, status_time, inbox_put, turn, turn_seq, wake_at, finished_at
       from trivium_tasks where key = ?`,
    ),
    countWaiting: prepare(
      "select count(*) as count from trivium_inbox where key = ? and id in (select value from json_each(?))",
    ),
    takeEntries: prepare("delete from trivium_inbox where key = ? and id in (select value from json_each(?))"),
    clearInbox: prepare("delete from trivium_inbox where key = ?"),
    expiry: prepare("select expires_at from trivium_instances where name = ?"),
    /** Writes the columns that changed. A status comes with its summary. */
    updateHead({ key, status }: Pick<AppendRow, "key" | "status">, before: WrittenHead, after: WrittenHead): void {
      const changes = indexedNames.filter((name) => before[name] !== after[name]);
      const summaryBit = status === undefined ? 0 : 1 << indexedNames.length;
      const mask = changes.reduce((bits, name) => bits | (1 << indexedNames.indexOf(name)), summaryBit);
      let statement = updates.get(mask);
      if (statement === undefined) {
        statement = prepare(updateText(changes, status !== undefined));
        updates.set(mask, statement);
      }
      const values: SQLInputValue[] = changes.map((name) => after[name]);
      if (before.finishedAt !== after.finishedAt) values.push(after.finishedAt);
      if (status !== undefined) values.push(status.summary ?? null, after.statusTime);
      statement.run(after.seq, after.epoch, after.turn, after.turnSeq, ...values, key);
    },
  };
}

function updateText(changes: readonly (typeof indexedNames)[number][], withSummary: boolean): string {
  const columns = ["seq", "epoch", "turn", "turn_seq", ...changes.map((name) => indexedColumns[name])];
  if (changes.includes("finishedAt")) columns.push("logged_at");
  if (withSummary) columns.push("summary", "summary_time");
  return `update trivium_tasks set ${columns.map((column) => `${column} = ?`).join(", ")} where key = ?`;
}

export function writtenHead(row: Record<string, SQLOutputValue>): WrittenHead {
  return {
    agent: String(row["agent"]),
    tenant: String(row["tenant"]),
    owner: String(row["owner"]),
    seq: Number(row["seq"]),
    epoch: Number(row["epoch"]),
    holder: String(row["holder"]),
    state: Number(row["state"]),
    statusTime: Number(row["status_time"]),
    inboxPut: Number(row["inbox_put"]),
    turn: Number(row["turn"]),
    turnSeq: Number(row["turn_seq"]),
    wakeAt: numberOrNull(row["wake_at"]),
    finishedAt: numberOrNull(row["finished_at"]),
  };
}

function numberOrNull(value: SQLOutputValue | undefined): number | null {
  return typeof value === "number" ? value : null;
}
