import { taskNotFound } from "../../protocol/errors.js";
import { type CopyOptions, copyHistory, emptyTask } from "../../protocol/fold.js";
import type { Task } from "../../protocol/model.js";
import type { Head, LogRecord } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { applyRecord, foldStored } from "../task/fold.js";
import { copyOfLive, type TaskRef } from "./read-task.js";

// A task as of an earlier position of its log.

const pageRecords = 256;

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
  const live = copyOfLive(runtime, ref, { ...options, from: seq });
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
  { key, id, contextId }: Pick<Head, "key" | "id" | "contextId">,
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
