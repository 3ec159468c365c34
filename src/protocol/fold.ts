import { appendChunk, type MergeMetadata, mergeMetadata } from "./artifact-chunks.js";
import {
  type Artifact,
  type Message,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatusUpdateEvent,
  typeNames,
} from "./model.js";

// The fold: applying a task's events in order gives the task. It works in place and copies only on request.

/** A task with its ids alone. */
export function emptyTask(id: string, contextId: string): Task {
  return {
    $typeName: typeNames.Task,
    id,
    contextId,
    status: { $typeName: typeNames.TaskStatus, state: TaskState.SUBMITTED },
    artifacts: [],
    history: [],
  };
}

/** Applies one event to the task, in place. */
export function applyEvent(task: Task, event: StreamResponse, merge: MergeMetadata = mergeMetadata): void {
  const { payload } = event;
  if (payload.case === "statusUpdate") {
    settleStatusMessage(task);
    applyStatus(task, payload.value, merge);
    return;
  }
  if (payload.case === "artifactUpdate") applyArtifact(task, payload.value, merge);
}

function applyStatus(task: Task, { status, metadata }: TaskStatusUpdateEvent, merge: MergeMetadata): void {
  if (status !== undefined) task.status = status;
  if (metadata !== undefined) task.metadata = merge(task.metadata, metadata);
}

/** A task with events applied, without its artifacts and its history: a new object. */
export function summarize(task: Task, events: Iterable<StreamResponse>): Task {
  const summary = { ...task, artifacts: [], history: [] };
  for (const { payload } of events)
    if (payload.case === "statusUpdate") applyStatus(summary, payload.value, mergeMetadata);
  return summary;
}

/** Moves the status message to the history, when the next status replaces it or the caller answers it. */
export function settleStatusMessage({ status, history }: Task): void {
  const message = status?.message;
  if (message !== undefined && messageIndex(history, message.messageId) < 0) history.push(message);
}

function applyArtifact(task: Task, event: TaskArtifactUpdateEvent, merge: MergeMetadata): void {
  const { artifact, append } = event;
  if (artifact === undefined) return;
  const index = artifactIndex(task.artifacts, artifact.artifactId);
  const existing = task.artifacts[index];
  if (existing === undefined) {
    task.artifacts.push({ ...artifact, parts: [...artifact.parts] });
    return;
  }
  if (!append) {
    task.artifacts[index] = { ...artifact, parts: [...artifact.parts] };
    return;
  }
  appendChunk(existing, artifact, merge);
}

/** Up to this many entries a linear search is as fast as an index. */
const linearMax = 32;

interface Index {
  readonly positions: Map<string, number>;
  /** How much of the list it covers. */
  length: number;
}

const indexes = new WeakMap<readonly object[], Index>();

/**
 * Returns a function that gives the position of the entry with an id, or -1; of several, the last. The list may grow,
 * and entries may be replaced by others of the same id, as in a fold; a lookup then takes constant time.
 */
function createLookup<T extends object>(readId: (entry: T) => string): (list: readonly T[], id: string) => number {
  return (list, id) => {
    // Usually it is the last entry.
    const last = list.at(-1);
    if (last !== undefined && readId(last) === id) return list.length - 1;
    if (list.length <= linearMax) return list.findLastIndex((each) => readId(each) === id);
    let index = indexes.get(list);
    if (index === undefined) {
      index = { positions: new Map(), length: 0 };
      indexes.set(list, index);
    }
    for (; index.length < list.length; index.length++) {
      const entry = list[index.length];
      if (entry !== undefined) index.positions.set(readId(entry), index.length);
    }
    return index.positions.get(id) ?? -1;
  };
}

/** The position of the artifact with an id, or -1. */
export const artifactIndex = createLookup<Artifact>((artifact) => artifact.artifactId);
const messageIndex = createLookup<Message>((message) => message.messageId);

/** Which parts of a task to copy. */
export interface CopyOptions {
  /** How many of the most recent messages to copy. Default: all. */
  readonly historyLength?: number | undefined;
  /** The id of a message to leave out: the latest with this id. Default: none. */
  readonly withoutMessage?: string | undefined;
  /** Default: true. */
  readonly artifacts?: boolean | undefined;
}

/** Copies a task so that the fold does not change the copy. Parts and messages are shared. */
export function copyTask(task: Task, options: CopyOptions = {}): Task {
  const { artifacts = true } = options;
  return {
    ...task,
    artifacts: artifacts ? task.artifacts.map((each) => ({ ...each, parts: [...each.parts] })) : [],
    history: copyHistory(task.history, options),
  };
}

/** The messages of a history that a copy has. */
export function copyHistory(history: readonly Message[], options: CopyOptions = {}): Message[] {
  const { historyLength, withoutMessage } = options;
  if (withoutMessage === undefined) return takeLast(history, historyLength);
  const index = history.findLastIndex(({ messageId }) => messageId === withoutMessage);
  return takeLast(index < 0 ? history : history.toSpliced(index, 1), historyLength);
}

export function takeLast<T>(list: readonly T[], count: number | undefined): T[] {
  if (count === undefined || count >= list.length) return [...list];
  return count === 0 ? [] : list.slice(-count);
}
