import { randomUUID } from "node:crypto";
import type { SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite";
import type { AppendResult } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { scopeKey } from "../../protocol/fair-share.js";
import { isTerminal } from "../../protocol/states.js";
import type { DbContext, HotPath } from "../sql/dialect.js";
import { type InsertedTask, insertedHead, insertedHolder, insertedWake } from "../sql/inserted-head.js";
import { toPeriod } from "../sql/periods.js";
import type { AppendRow, ConversationWriteRow, NewTaskRow, StatusRow } from "../sql/rows.js";
import { rollBack, type SqliteConnection } from "./driver.js";
import type { HotResult, HotWrite } from "./packed.js";

// The writes that every event makes: creations, appends and entries of conversations, by statements that are compiled once.
// `createHotPath` runs them in one transaction, one after the other: a row of the head is read, judged by the write's fence,
// and written with the columns that changed. Counters are summed up over the transaction (`CounterDeltas`) and written at its end.

/** Create, append and conversation writes, also several at once. */
export interface SqliteHotPath extends HotPath {
  /** Runs writes in one transaction, synchronously. If one throws, all are rolled back. */
  run(writes: readonly HotWrite[]): Promise<readonly HotResult[]>;
}

/** The connection of the writes and the state of one transaction. */
interface Writer {
  readonly statements: Statements;
  readonly now: () => number;
  /** The incarnation of the tasks it creates. */
  readonly incarnation: string;
  readonly deltas: CounterDeltas;
  /** Cached expiry of the holders of new tasks. */
  readonly expiries: Map<string, number>;
}

/**
 * Creates and appends by its own synchronous statements. Within a transaction they join it; otherwise each write is
 * one. The tables must exist at the first write.
 */
export function createHotPath(connection: SqliteConnection, now: () => number): SqliteHotPath {
  const incarnation = randomUUID().slice(0, 8);
  let statements: Statements | undefined;
  const perform = <T>(run: (writer: Writer) => T): T => {
    statements ??= hotStatements(connection);
    const deltas = new CounterDeltas();
    const result = run({ statements, now, incarnation, deltas, expiries: new Map() });
    deltas.write(statements);
    return result;
  };
  const inContext = async <T>({ db }: DbContext, run: (writer: Writer) => T): Promise<T> =>
    db.isTransaction ? perform(run) : inTransaction(connection, () => perform(run));
  return {
    create: async (task, context) => insertedHead(task, await inContext(context, (writer) => createTask(writer, task))),
    append: (write, context) => inContext(context, (writer) => appendWrite(writer, write)),
    addToConversations: (writes, context) =>
      inContext(context, ({ statements }) => {
        for (const write of writes) addToConversation(statements, write);
      }),
    run: (writes) => inTransaction(connection, () => perform((writer) => writes.map((write) => apply(writer, write)))),
  };
}

async function inTransaction<T>(connection: SqliteConnection, run: () => T): Promise<T> {
  const release = await connection.acquire();
  try {
    connection.prepare("begin immediate").run();
    const result = run();
    connection.prepare("commit").run();
    return result;
  } catch (error) {
    rollBack(connection);
    throw error;
  } finally {
    release();
  }
}

function apply(writer: Writer, write: HotWrite): HotResult {
  if (write.kind === "create") return createTask(writer, write.row);
  if (write.kind === "append") return appendWrite(writer, write.row);
  for (const row of write.rows) addToConversation(writer.statements, row);
  return undefined;
}

function createTask(writer: Writer, task: NewTaskRow): InsertedTask {
  const { statements, now, incarnation, deltas } = writer;
  const { scope, status } = task;
  const holder = insertedHolder(task);
  const finishedAt = isTerminal(status.state) && holder === "" ? now() : null;
  const key = insertTask(writer, task, { holder, wakeAt: insertedWake(task), finishedAt });
  insertPayloads(statements, key, task);
  deltas.count(scope, status, 1);
  return { key, incarnation, holderLive: isLive(writer, holder) };
}

interface NewTaskHead {
  readonly holder: string;
  readonly wakeAt: number | undefined;
  readonly finishedAt: number | null;
}

function insertTask({ statements, incarnation }: Writer, task: NewTaskRow, head: NewTaskHead): number {
  const { id, scope, contextId, name, version, log, status, turnSeq } = task;
  const { holder, wakeAt = null, finishedAt } = head;
  const ids = [id, scope.agent, scope.tenant, scope.owner, contextId, name ?? null, incarnation, version] as const;
  const position = [log?.seq ?? 0, holder, status.state, status.time, turnSeq] as const;
  try {
    const times = [wakeAt, finishedAt, finishedAt, status.summary ?? null, status.time] as const;
    const { lastInsertRowid } = statements.insertTask.run(...ids, ...position, ...times);
    return Number(lastInsertRowid);
  } catch (error) {
    throw nameConflict(error, task) ?? error;
  }
}

const uniqueViolation = 2067;

/** The error for an id or a name that another task has. Nothing was written then. */
function nameConflict(error: unknown, { id, name }: NewTaskRow): A2AError | undefined {
  if (!(error instanceof Error && "errcode" in error && error.errcode === uniqueViolation)) return undefined;
  const conflict = error.message.includes("trivium_tasks.id") ? `id ${id}` : `name ${JSON.stringify(name)}`;
  return new A2AError("internalError", `a task with the ${conflict} exists`, { cause: error });
}

function appendWrite(writer: Writer, write: AppendRow): AppendResult {
  const { statements } = writer;
  const { key, epoch, seq, claim, end, status, takes, log, turnSeq } = write;
  if (claim === undefined && end === undefined && status === undefined && takes.length === 0) {
    const { changes } = statements.advance.run(log?.seq ?? seq, turnSeq, turnSeq, key, epoch, seq);
    if (changes === 0) return "fenced";
  } else {
    const row = statements.head([key]);
    if (row === undefined) return "fenced";
    const refusal = moveHead(writer, write, writtenHead(row));
    if (refusal !== undefined) return refusal;
  }
  insertPayloads(statements, key, write);
  return "stored";
}

/** Updates the head, unless the write is refused. */
function moveHead(writer: Writer, write: AppendRow, before: WrittenHead): AppendResult | undefined {
  const { statements, deltas } = writer;
  const { key, end, takes } = write;
  if (before.epoch !== write.epoch || before.seq !== write.seq) return "fenced";
  const state = write.status?.state ?? before.state;
  const terminal = isTerminal(state);
  if (end !== undefined && !terminal && end.inboxPut !== before.inboxPut) return "inboxMoved";
  if (!takeEntries(statements, key, takes)) return "inboxMoved";
  const after = headAfter(writer, write, before);
  statements.updateHead(write, before, after);
  if (state !== before.state || after.statusTime !== before.statusTime) {
    deltas.count(before, { state: before.state, time: before.statusTime }, -1);
    deltas.count(after, { state, time: after.statusTime }, 1);
  }
  if (terminal && before.inboxPut > 0) statements.clearInbox.run(key);
  return undefined;
}

function headAfter({ now }: Writer, write: AppendRow, before: WrittenHead): WrittenHead {
  const { claim, end, status, log, turnSeq } = write;
  const state = status?.state ?? before.state;
  const terminal = isTerminal(state);
  const holder = end === undefined ? (claim?.holder ?? before.holder) : "";
  return {
    ...before,
    seq: log?.seq ?? before.seq,
    epoch: before.epoch + (claim === undefined ? 0 : 1),
    holder,
    state,
    statusTime: Math.max(status?.time ?? 0, before.statusTime),
    turn: claim?.turn ?? before.turn,
    turnSeq: turnSeq === 0 ? before.turnSeq : turnSeq,
    wakeAt: terminal ? null : wakeAfter(write, before),
    finishedAt: before.finishedAt ?? (terminal && holder === "" ? now() : null),
  };
}

function wakeAfter({ claim, end }: AppendRow, { wakeAt }: WrittenHead): number | null {
  if (end !== undefined) return end.park?.wakeAt ?? null;
  return claim === undefined ? wakeAt : null;
}

/** Returns false, taking nothing, when one of them does not wait. */
function takeEntries(statements: Statements, key: number, takes: readonly string[]): boolean {
  if (takes.length === 0) return true;
  const ids = JSON.stringify(takes);
  const count = Number(statements.countWaiting.get(key, ids)?.["count"]);
  if (count < new Set(takes).size) return false;
  statements.takeEntries.run(key, ids);
  return true;
}

function insertPayloads(statements: Statements, key: number, { log, snapshot, conversation }: AppendRow | NewTaskRow) {
  if (log !== undefined) statements.insertLog.run(key, log.seq, log.count, log.format, log.bytes);
  if (snapshot !== undefined) statements.putSnapshot.run(key, snapshot.seq, snapshot.format, snapshot.bytes);
  if (conversation !== undefined) addToConversation(statements, conversation);
}

function addToConversation(statements: Statements, write: ConversationWriteRow): void {
  const { scope, contextId, usedAt, expiresAt = null, maxEntries, entries } = write;
  const size = entries.reduce((sum, { bytes }) => sum + bytes, 0);
  const ids = [scope.agent, scope.tenant, scope.owner, contextId] as const;
  const use = [entries.length, size, maxEntries, usedAt, expiresAt] as const;
  const found = statements.context(ids);
  let context = Number(found?.["key"]);
  if (found === undefined) context = Number(statements.insertContext.run(...ids, ...use).lastInsertRowid);
  else statements.useContext.run(...use, context);
  let number = Number(found?.["last"] ?? 0);
  for (const { kind, at, taskId, id, bytes, payload } of entries) {
    number += 1;
    const content = [payload?.format ?? 0, payload?.bytes ?? null] as const;
    statements.insertEntry.run(context, number, kind, at, taskId, id, bytes, ...content);
  }
}

function isLive({ statements, now, expiries }: Writer, holder: string): boolean {
  if (holder === "") return false;
  let expiry = expiries.get(holder);
  if (expiry === undefined) {
    expiry = Number(statements.expiry.get(holder)?.["expires_at"] ?? 0);
    expiries.set(holder, expiry);
  }
  return now() < expiry;
}

interface Counter extends Scope {
  readonly state: number;
  readonly period: number;
  change: number;
}

/** Changes of the task counters within a transaction: each counter is written once, however many tasks change it. */
class CounterDeltas {
  readonly #counters = new Map<string, Counter>();

  /** A task entered a state at a time, or (-1) left it. */
  count(scope: Scope, { state, time }: StatusRow, change: 1 | -1): void {
    const period = toPeriod(time);
    const name = `${state} ${period} ${scopeKey(scope)}`;
    const counter = this.#counters.get(name);
    if (counter === undefined) {
      const { agent, tenant, owner } = scope;
      this.#counters.set(name, { agent, tenant, owner, state, period, change });
    } else counter.change += change;
  }

  write({ count, countPeriod }: Statements): void {
    if (this.#counters.size === 0) return;
    for (const { agent, tenant, owner, state, period, change } of this.#counters.values()) {
      if (change !== 0) countPeriod.run(agent, tenant, owner, period, state, change);
    }
    for (const { agent, tenant, owner, state, change } of byState(this.#counters.values())) {
      if (change !== 0) count.run(agent, tenant, owner, state, change);
    }
  }
}

/** The same counters without their time. */
function byState(counters: Iterable<Counter>): Iterable<Counter> {
  const sums = new Map<string, Counter>();
  for (const counter of counters) {
    const { state, change } = counter;
    const name = `${state} ${scopeKey(counter)}`;
    const sum = sums.get(name);
    if (sum === undefined) sums.set(name, { ...counter });
    else sum.change += change;
  }
  return sums.values();
}

/** The parts of a head that an append needs. */
interface WrittenHead extends Scope {
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
type Statements = ReturnType<typeof hotStatements>;

function hotStatements(connection: SqliteConnection) {
  const updates = new Map<number, StatementSync>();
  const prepare = (text: string) => connection.prepare(text);
  const first = (text: string) => {
    const read = connection.reader(text);
    return (parameters: readonly SQLInputValue[]) => read(parameters)[0] as Record<string, SQLOutputValue> | undefined;
  };
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
    // A read, then a write: an upsert with RETURNING would make SQLite build a temporary table for the returned row, and
    // advance the key sequence on every update.
    context: first(
      "select key, last from trivium_contexts where agent = ? and tenant = ? and owner = ? and context_id = ?",
    ),
    insertContext: prepare(
      `insert into trivium_contexts (agent, tenant, owner, context_id, last, dropped, hidden, bytes, value_bytes, max_entries,
         used_at, expires_at)
       values (?, ?, ?, ?, ?, 0, 0, ?, 0, ?, ?, ?)`,
    ),
    useContext: prepare(
      `update trivium_contexts set last = last + ?, bytes = bytes + ?, max_entries = ?, used_at = ?, expires_at = ?
       where key = ?`,
    ),
    insertEntry: prepare(
      `insert into trivium_conversations (context, number, kind, at, task_id, item_id, bytes, format, payload)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    /** An append that changes only the number. */
    advance: prepare(
      `update trivium_tasks set seq = ?, turn_seq = iif(? = 0, turn_seq, ?) where key = ? and epoch = ? and seq = ?`,
    ),
    head: first(
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
    updateHead({ key, status }: AppendRow, before: WrittenHead, after: WrittenHead): void {
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

function writtenHead(row: Record<string, SQLOutputValue>): WrittenHead {
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
