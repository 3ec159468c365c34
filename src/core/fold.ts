import { appendChunk } from "../protocol/artifact-chunks.js";
import type { Artifact, StreamResponse, Task, TaskArtifactUpdateEvent } from "../protocol/model.js";
import { TaskState } from "../protocol/model.js";
import type { LogRecord, StoredTask } from "./ports.js";

// The fold: a task is what its records add up to. It is done in place; a copy is made only when somebody asks.

/** The task before its first record. */
export function emptyTask(id: string, contextId: string): Task {
  return {
    $typeName: "lf.a2a.v1.Task",
    id,
    contextId,
    status: { $typeName: "lf.a2a.v1.TaskStatus", state: TaskState.SUBMITTED },
    artifacts: [],
    history: [],
  };
}

/** Adds one record to the task, in place. Parts and messages are shared with the record, never changed. */
export function applyRecord(task: Task, record: LogRecord): void {
  if (record.kind === "message") {
    settleStatusMessage(task);
    task.history.push(record.message);
    return;
  }
  if (record.kind === "event") applyEvent(task, record.event);
}

/** Adds one event to the task, in place. */
export function applyEvent(task: Task, event: StreamResponse): void {
  const { payload } = event;
  if (payload.case === "statusUpdate") {
    settleStatusMessage(task);
    if (payload.value.status !== undefined) task.status = payload.value.status;
    if (payload.value.metadata !== undefined) task.metadata = { ...task.metadata, ...payload.value.metadata };
    return;
  }
  if (payload.case === "artifactUpdate") applyArtifact(task, payload.value);
}

// A status message goes to the history when the next status replaces it, or when the caller answers it.
function settleStatusMessage(task: Task): void {
  const message = task.status?.message;
  if (message === undefined) return;
  if (task.history.findLast((each) => each.messageId === message.messageId) === undefined) task.history.push(message);
}

function applyArtifact(task: Task, event: TaskArtifactUpdateEvent): void {
  const { artifact, append } = event;
  if (artifact === undefined) return;
  const index = indexOf(task.artifacts, artifact.artifactId);
  const known = task.artifacts[index];
  if (known === undefined) {
    task.artifacts.push({ ...artifact, parts: [...artifact.parts] });
    return;
  }
  if (!append) {
    task.artifacts[index] = { ...artifact, parts: [...artifact.parts] };
    return;
  }
  appendChunk(known, artifact);
}

// The artifact that is being written is almost always the last one.
function indexOf(artifacts: readonly Artifact[], artifactId: string): number {
  for (let index = artifacts.length - 1; index >= 0; index--) {
    if (artifacts[index]?.artifactId === artifactId) return index;
  }
  return -1;
}

/** How much of a task a copy holds. */
export interface CopyOptions {
  /** The most recent messages only. Default: all. */
  readonly historyLength?: number | undefined;
  /** Default: true. */
  readonly artifacts?: boolean | undefined;
}

/** A copy that the fold will not change any more. Parts and messages are shared. */
export function copyTask(task: Task, options: CopyOptions = {}): Task {
  const { historyLength, artifacts = true } = options;
  return {
    ...task,
    artifacts: artifacts ? task.artifacts.map((each) => ({ ...each, parts: [...each.parts] })) : [],
    history: lastOf(task.history, historyLength),
  };
}

function lastOf<T>(list: readonly T[], count: number | undefined): T[] {
  if (count === undefined || count >= list.length) return [...list];
  return count === 0 ? [] : list.slice(-count);
}

/** The task that a stored snapshot and its records add up to: a fresh object. */
export function foldStored(stored: StoredTask, options?: CopyOptions): Task {
  const { head, snapshot, records } = stored;
  if (records.length === 0 && snapshot !== undefined) return copyTask(snapshot.task, options);
  const task = snapshot === undefined ? emptyTask(head.id, head.contextId) : copyTask(snapshot.task);
  for (const record of records) applyRecord(task, record);
  if (options?.artifacts === false) task.artifacts = [];
  task.history = lastOf(task.history, options?.historyLength);
  return task;
}
