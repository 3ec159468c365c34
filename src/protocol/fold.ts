import { appendChunk } from "./artifact-chunks.js";
import { type Artifact, type StreamResponse, type Task, type TaskArtifactUpdateEvent, TaskState } from "./model.js";

// The fold: a task is what its events add up to. It is done in place; a copy is made only on request.

/** A task before anything is known of it but its ids. */
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

/** A status message goes to the history when the next status replaces it, or when the caller answers it. */
export function settleStatusMessage(task: Task): void {
  const message = task.status?.message;
  if (message === undefined) return;
  if (task.history.findLast((each) => each.messageId === message.messageId) === undefined) task.history.push(message);
}

function applyArtifact(task: Task, event: TaskArtifactUpdateEvent): void {
  const { artifact, append } = event;
  if (artifact === undefined) return;
  const index = artifactIndex(task.artifacts, artifact.artifactId);
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

/** Up to this many artifacts a search is as fast as an index. */
const searchedMax = 32;

const indexes = new WeakMap<readonly Artifact[], Map<string, number>>();

/**
 * Returns where the artifact with an id is, or -1. The list may grow and its artifacts may be replaced by others of the same
 * id, as a fold does; then a lookup costs the same however many artifacts there are.
 */
export function artifactIndex(artifacts: readonly Artifact[], artifactId: string): number {
  // The artifact that is being written is almost always the last one.
  if (artifacts.at(-1)?.artifactId === artifactId) return artifacts.length - 1;
  if (artifacts.length <= searchedMax) return artifacts.findLastIndex((each) => each.artifactId === artifactId);
  let index = indexes.get(artifacts);
  if (index === undefined) {
    index = new Map();
    indexes.set(artifacts, index);
  }
  // Where two have one id, the last of them counts, and the index stays behind by one.
  for (let at = index.size; at < artifacts.length; at++) index.set(artifacts[at]?.artifactId ?? "", at);
  return index.get(artifactId) ?? -1;
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

export function lastOf<T>(list: readonly T[], count: number | undefined): T[] {
  if (count === undefined || count >= list.length) return [...list];
  return count === 0 ? [] : list.slice(-count);
}
