import type { Scope } from "../../protocol/context.js";
import { taskNotFound } from "../../protocol/errors.js";
import { type CopyOptions, copyHistory, copyTask, emptyTask } from "../../protocol/fold.js";
import type { Task, TaskState } from "../../protocol/model.js";
import type { Head, LogRecord } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { eventIdPrefix } from "../task/event-id.js";
import { applyRecord, foldStored } from "../task/fold.js";

// How a task is read. A task that a turn of this process runs is copied from memory (`copyIfCurrent`), any other is folded
// from its snapshot and the records behind it. A copy from memory is taken only where it is as good as the store: this
// process holds a valid lease, the task is open, and no write of it is under way that others may have seen.
//
// A task as of an earlier position (`readTaskAt`) is folded up to there, from the start of its log if the snapshot is
// newer. Last come the questions whether a message has reached a task.

/** Records that are read from the log at a time. */
export const pageRecords = 256;

/** The stored state of a task and its position in the log. */
export interface TaskSnapshot {
  readonly id: string;
  readonly key: number;
  readonly seq: number;
  readonly state: TaskState;
  readonly idPrefix: string;
  readonly incarnation: string;
  /** A copy for the caller, taken in the same step as the read. */
  readonly task: Task;
}

/** Which task of which owner. */
export type TaskRef = Pick<Head, "scope" | "id">;

export interface ReadOptions extends CopyOptions {
  /** A position that the caller has already seen. */
  readonly from?: number | undefined;
}

/**
 * Reads a task, from the turn in this process if one runs it, else from the store. Throws `taskNotFound` (spec 3.1.3).
 */
export async function readTask(runtime: Runtime, task: TaskRef, options?: ReadOptions): Promise<TaskSnapshot> {
  return copyIfCurrent(runtime, task, options) ?? readStoredTask(runtime, task, options);
}

/**
 * Copies a running task as `copyLive` does, but `undefined` while a write of it is under way: the store may have that
 * already, and other processes may have shown it.
 */
export function copyIfCurrent(runtime: Runtime, task: TaskRef, options?: ReadOptions): TaskSnapshot | undefined {
  return runtime.live.get(task.id)?.isWriting === true ? undefined : copyLive(runtime, task, options);
}

/**
 * Copies a task that a turn of this process runs; `undefined` for any other, for one behind `from`, and for all while
 * another process may have taken them over.
 */
function copyLive(runtime: Runtime, { scope, id }: TaskRef, options?: ReadOptions): TaskSnapshot | undefined {
  const live = runtime.lease.valid ? runtime.live.get(id) : undefined;
  const isFresh = live?.closed === false && live.storedSeq >= (options?.from ?? 0);
  if (!isFresh || live.key === undefined || !sameScope(live.scope, scope)) return undefined;
  const { key, storedSeq: seq, idPrefix, incarnation } = live;
  const task = copyTask(live.task, options);
  return { id, key, seq, state: task.status?.state ?? live.state, idPrefix, incarnation, task };
}

/** Whether a turn of this process runs the task. */
export function isRunningLocally({ live }: Runtime, { scope, id }: TaskRef): boolean {
  const task = live.get(id);
  return task?.closed === false && sameScope(task.scope, scope);
}

/** Reads only from the store: the state in this process is stale if another one took the task over. */
export async function readStoredTask(
  runtime: Runtime,
  { scope, id }: TaskRef,
  options?: CopyOptions,
): Promise<TaskSnapshot> {
  const storedTask = await runtime.store.read(scope, id);
  if (storedTask === undefined) throw taskNotFound(id);
  const { key, seq, state, incarnation } = storedTask.head;
  return {
    id,
    key,
    seq,
    state,
    idPrefix: eventIdPrefix(id, incarnation),
    incarnation,
    task: foldStored(storedTask, options),
  };
}

/** A task up to and including the record with this number. */
export interface PastTask {
  readonly task: Task;
  readonly seq: number;
}

/**
 * Reads a task as of the record `seq`, or its current state if the log no longer reaches back. Costs no more than
 * reading the current state, unless a snapshot was written since. Throws `taskNotFound`.
 */
export async function readTaskAt(
  runtime: Runtime,
  { seq, ...ref }: TaskRef & { readonly seq: number },
  options?: CopyOptions,
): Promise<Task> {
  const live = copyLive(runtime, ref, { ...options, from: seq });
  if (live?.seq === seq) return live.task;
  const storedTask = await runtime.store.read(ref.scope, ref.id);
  if (storedTask === undefined) throw taskNotFound(ref.id);
  const { head, snapshot, records } = storedTask;
  if (snapshot === undefined || snapshot.seq <= seq || head.seq <= seq) {
    return foldStored({ ...storedTask, records: records.filter((record) => record.seq <= seq) }, options);
  }
  const past = await foldLog(runtime, head, seq);
  return past === undefined
    ? foldStored(storedTask, options)
    : { ...past.task, history: copyHistory(past.task.history, options) };
}

/**
 * Folds a log from its start up to the record `last`, or up to its first event. `undefined` when the log no longer
 * reaches back.
 */
export async function foldLog(
  { store }: Runtime,
  { key, id, contextId }: Head,
  last: number | "first event",
): Promise<PastTask | undefined> {
  const task = emptyTask(id, contextId);
  const isLast = (record: LogRecord): boolean =>
    last === "first event" ? record.kind === "event" : record.seq === last;
  for (let seq = 0; ; ) {
    const limit = last === "first event" ? pageRecords : Math.min(pageRecords, last - seq);
    const page = await store.recordsAfter(key, seq, limit);
    if (page === "compacted" || page === undefined || page.records.length === 0) return undefined;
    for (const record of page.records) {
      applyRecord(task, record);
      seq = record.seq;
      if (isLast(record)) return { task, seq };
    }
  }
}

/** Identifies a send's message in its task's log: by the id of the send or, if that is unknown, by the message id. */
export type SendKey = { readonly entry: string } | { readonly messageId: string };

export function isFromSend(record: LogRecord, sentKey: SendKey): boolean {
  if (record.kind !== "message") return false;
  return "entry" in sentKey ? record.entry === sentKey.entry : record.message.messageId === sentKey.messageId;
}

/** A message that a send delivered, by the id of the send, anywhere behind `after`. */
interface PlacedMessage {
  readonly head: Head;
  readonly after: number;
  readonly entry: string;
  readonly messageId: string;
}

/** Whether a message waits in the inbox or was taken. Without its log the task's history shows that. */
export async function isMessageDelivered(
  runtime: Runtime,
  { head, after, entry, messageId }: PlacedMessage,
): Promise<boolean> {
  const { key } = head;
  // The inbox first: an entry that leaves it meanwhile is found in the log.
  const { entries } = await runtime.store.inbox(key);
  if (entries.some((each) => each.id === entry)) return true;
  const result = await isMessageTaken(runtime, { key, after, entry });
  if (result !== "compacted") return result;
  const { task } = await readStoredTask(runtime, head);
  return task.history.some((message) => message.messageId === messageId);
}

/** Whether a message was taken after a position, as far as the log shows. `compacted`: it does not reach back so far. */
export async function isMessageTaken(
  { store }: Runtime,
  { key, after, ...sentKey }: SendKey & { readonly key: number; readonly after: number },
): Promise<boolean | "compacted"> {
  for (let position = after; ; ) {
    const page = await store.recordsAfter(key, position, pageRecords);
    if (page === "compacted") return "compacted";
    const last = page?.records.at(-1);
    if (page === undefined || last === undefined) return false;
    if (page.records.some((record) => isFromSend(record, sentKey))) return true;
    position = last.seq;
  }
}

function sameScope(left: Scope, right: Scope): boolean {
  return left.owner === right.owner && left.tenant === right.tenant && left.agent === right.agent;
}
