import {
  applyEvent,
  type CopyOptions,
  copyHistory,
  copyTask,
  emptyTask,
  settleStatusMessage,
  summarize,
} from "../../protocol/fold.js";
import type { Task } from "../../protocol/model.js";
import type { LogRecord, StoredTask } from "../ports.js";

// Folds a log into a task: messages and events, by the protocol's rules.

/** Applies one record to the task in place. Parts and messages are shared with the record and never modified. */
export function applyRecord(task: Task, record: LogRecord): void {
  if (record.kind === "message") {
    settleStatusMessage(task);
    task.history.push(record.message);
    return;
  }
  if (record.kind === "event") applyEvent(task, record.event);
}

/** The task's summary (`summarize`) behind these records. */
export function summaryAfter(task: Task, records: readonly LogRecord[]): Task {
  return summarize(
    task,
    records.flatMap((record) => (record.kind === "event" ? record.event : [])),
  );
}

/** The task that results from a stored snapshot and its records: a new object. */
export function foldStored(storedTask: StoredTask, options?: CopyOptions): Task {
  const { head, snapshot, records } = storedTask;
  if (options?.artifacts === false && options.historyLength === 0) {
    return summaryAfter(snapshot?.task ?? emptyTask(head.id, head.contextId), records);
  }
  if (records.length === 0 && snapshot !== undefined) return copyTask(snapshot.task, options);
  const task = snapshot === undefined ? emptyTask(head.id, head.contextId) : copyTask(snapshot.task);
  for (const record of records) applyRecord(task, record);
  if (options?.artifacts === false) task.artifacts = [];
  task.history = copyHistory(task.history, options);
  return task;
}
