import { randomUUID } from "node:crypto";
import type { AppendResult, Head } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { isTerminal } from "../../protocol/states.js";
import type { HotPath, Place } from "../sql/dialect.js";
import type { AppendRow, NewTaskRow } from "../sql/rows.js";
import { rollBack, type SqliteConnection } from "./driver.js";
import { hotStatements, type Statements, type WrittenHead, writtenHead } from "./statements.js";

/** Who writes: its clock, and the mark of the tasks that it makes. */
interface Writer {
  readonly statements: Statements;
  readonly now: () => number;
  readonly incarnation: string;
}

/**
 * Creates and appends by statements of their own, which wait for nothing. Within a transaction they are a part of it;
 * alone each is one. The tables must be there at the first write.
 */
export function createHotPath(connection: SqliteConnection, now: () => number): HotPath {
  let made: Writer | undefined;
  const writer = (): Writer => {
    made ??= { statements: hotStatements(connection), now, incarnation: randomUUID().slice(0, 8) };
    return made;
  };
  return {
    create: (task, place) => inPlace(connection, place, () => createTask(writer(), task)),
    append: (write, place) => inPlace(connection, place, () => appendWrite(writer(), write)),
  };
}

async function inPlace<T>(connection: SqliteConnection, { db }: Place, run: () => T): Promise<T> {
  if (db.isTransaction) return run();
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

function createTask(writer: Writer, task: NewTaskRow): Head {
  const { statements, now, incarnation } = writer;
  const { status, end, turnSeq } = task;
  const holder = end === undefined ? task.holder : "";
  const terminal = isTerminal(status.state);
  const wakeAt = terminal ? undefined : end?.park?.wakeAt;
  const key = insertTask(writer, task, { holder, wakeAt, finishedAt: terminal && holder === "" ? now() : null });
  insertPayloads(statements, key, task);
  statements.count.run(task.scope.tenant, task.scope.owner, status.state, 1);
  const { id, contextId, scope, version } = task;
  const place = { key, id, contextId, scope, incarnation, version, seq: task.log?.seq ?? 0, epoch: 1 };
  const turn = { holder, holderLive: isLive(writer, holder), inboxPut: 0, turn: 1, turnSeq, wakeAt };
  return { ...place, ...turn, state: status.state, statusTime: status.time };
}

interface Birth {
  readonly holder: string;
  readonly wakeAt: number | undefined;
  readonly finishedAt: number | null;
}

function insertTask({ statements, incarnation }: Writer, task: NewTaskRow, birth: Birth): number {
  const { id, scope, contextId, name, version, log, status, turnSeq } = task;
  const { holder, wakeAt = null, finishedAt } = birth;
  const owned = [id, scope.tenant, scope.owner, contextId, name ?? null, incarnation, version] as const;
  const place = [log?.seq ?? 0, holder, status.state, status.time, turnSeq] as const;
  try {
    const { lastInsertRowid } = statements.insertTask.run(...owned, ...place, wakeAt, finishedAt, finishedAt);
    return Number(lastInsertRowid);
  } catch (error) {
    throw takenName(error, task) ?? error;
  }
}

const uniqueViolation = 2067;

/** What is said of an id or a name that another task has. Nothing has been written then. */
function takenName(error: unknown, { id, name }: NewTaskRow): A2AError | undefined {
  if (!(error instanceof Error && "errcode" in error && error.errcode === uniqueViolation)) return undefined;
  const taken = error.message.includes("trivium_tasks.id") ? `id ${id}` : `name ${JSON.stringify(name)}`;
  return new A2AError("internalError", `a task with the ${taken} exists`, { cause: error });
}

function appendWrite(writer: Writer, write: AppendRow): AppendResult {
  const { statements } = writer;
  const { key, epoch, seq, claim, end, status, takes, log, turnSeq } = write;
  if (claim === undefined && end === undefined && status === undefined && takes.length === 0) {
    const { changes } = statements.advance.run(log?.seq ?? seq, turnSeq, turnSeq, key, epoch, seq);
    if (changes === 0) return "fenced";
  } else {
    const row = statements.head.get(key);
    if (row === undefined) return "fenced";
    const refusal = moveHead(writer, write, writtenHead(row));
    if (refusal !== undefined) return refusal;
  }
  insertPayloads(statements, key, write);
  return "stored";
}

/** Writes the head as it is after the write, unless the write is refused. */
function moveHead(writer: Writer, write: AppendRow, before: WrittenHead): AppendResult | undefined {
  const { statements } = writer;
  const { key, end, takes } = write;
  if (before.epoch !== write.epoch || before.seq !== write.seq) return "fenced";
  const state = write.status?.state ?? before.state;
  const terminal = isTerminal(state);
  if (end !== undefined && !terminal && end.inboxPut !== before.inboxPut) return "inboxMoved";
  if (!takeEntries(statements, key, takes)) return "inboxMoved";
  statements.updateHead(key, before, headAfter(writer, write, before));
  if (terminal && before.inboxPut > 0) statements.clearInbox.run(key);
  if (state !== before.state) moveCount(statements, before, state);
  return undefined;
}

function headAfter({ now }: Writer, write: AppendRow, before: WrittenHead): WrittenHead {
  const { claim, end, status, log, turnSeq } = write;
  const state = status?.state ?? before.state;
  const terminal = isTerminal(state);
  const holder = end === undefined ? (claim?.holder ?? before.holder) : "";
  const parkedUntil = end === undefined ? (claim === undefined ? before.wakeAt : null) : (end.park?.wakeAt ?? null);
  return {
    ...before,
    seq: log?.seq ?? before.seq,
    epoch: before.epoch + (claim === undefined ? 0 : 1),
    holder,
    state,
    statusTime: Math.max(status?.time ?? 0, before.statusTime),
    turn: claim?.turn ?? before.turn,
    turnSeq: turnSeq === 0 ? before.turnSeq : turnSeq,
    wakeAt: terminal ? null : parkedUntil,
    finishedAt: before.finishedAt ?? (terminal && holder === "" ? now() : null),
  };
}

/** False, and nothing taken, when one of them does not wait. */
function takeEntries(statements: Statements, key: number, takes: readonly string[]): boolean {
  if (takes.length === 0) return true;
  const ids = JSON.stringify(takes);
  const waiting = Number(statements.countWaiting.get(key, ids)?.["count"]);
  if (waiting < new Set(takes).size) return false;
  statements.takeEntries.run(key, ids);
  return true;
}

function insertPayloads(statements: Statements, key: number, { log, snapshot }: Pick<AppendRow, "log" | "snapshot">) {
  if (log !== undefined) statements.insertLog.run(key, log.seq, log.count, log.format, log.bytes);
  if (snapshot !== undefined) statements.putSnapshot.run(key, snapshot.seq, snapshot.format, snapshot.bytes);
}

function moveCount({ count }: Statements, { tenant, owner, state }: Scope & { readonly state: number }, to: number) {
  count.run(tenant, owner, state, -1);
  count.run(tenant, owner, to, 1);
}

function isLive({ statements, now }: Writer, holder: string): boolean {
  if (holder === "") return false;
  return now() < Number(statements.expiry.get(holder)?.["expires_at"] ?? 0);
}
