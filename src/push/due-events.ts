import type { LogRecord, TaskStore } from "../core/ports.js";
import { appendChunk } from "../protocol/artifact-chunks.js";
import type { Scope } from "../protocol/context.js";
import { applyEvent, copyTask, emptyTask, settleStatusMessage } from "../protocol/fold.js";
import { type StreamResponse, type Task, type TaskArtifactUpdateEvent, typeNames } from "../protocol/model.js";
import type { AskStore } from "./ask-store.js";
import type { ChunkRun, Due } from "./plan.js";

// Reads what is due for a webhook, in the form that it is sent in: an event as it is, a run of chunks as one artifact, or the
// task up to a record. While a delivery waits it has only positions (`toPosition`), and everything is read again from the log.

/** A due event, as a log position where that is enough to read it again: the task or the event at a record. */
export type DueEvent = Due | { readonly kind: "task" | "record"; readonly seq: number };

/** The same without the event itself. */
export function toPosition(due: DueEvent, seq: number): DueEvent {
  return due.kind === "event" ? { kind: "record", seq } : due;
}

/** Reads the events that are due from a task's log. */
export class DueEvents {
  readonly #tasks: TaskStore;
  readonly #key: number;
  readonly #ask: AskStore;
  readonly #replay: TaskReplay;

  constructor(tasks: TaskStore, task: ReplayedTask, ask: AskStore) {
    this.#tasks = tasks;
    this.#key = task.key;
    this.#ask = ask;
    this.#replay = new TaskReplay(tasks, task);
  }

  /** `undefined` when the log no longer has it. */
  async read(due: DueEvent): Promise<StreamResponse | undefined> {
    if (due.kind === "event") return due.event;
    if (due.kind === "chunks") return this.#ask(() => joinChunks(this.#tasks, this.#key, due.run));
    if (due.kind === "record") return this.#ask(() => this.#eventAt(due.seq));
    const task = await this.#ask(() => this.#replay.at(due.seq));
    return task === undefined ? undefined : taskEvent(task);
  }

  /** Frees the memory of the task replayed so far. */
  forget(): void {
    this.#replay.forget();
  }

  async #eventAt(seq: number): Promise<StreamResponse | undefined> {
    const page = await this.#tasks.recordsAfter(this.#key, seq - 1, 1);
    const [record] = page === undefined || page === "compacted" ? [] : page.records;
    return record?.kind === "event" && record.seq === seq ? record.event : undefined;
  }
}

export function taskEvent(task: Task): StreamResponse {
  return { $typeName: typeNames.StreamResponse, payload: { case: "task", value: task } };
}

/** Number of records read at a time. */
export const pageRecords = 64;

/**
 * Reads a run of chunks and joins them into one event that replaces the artifact sent before, so that a duplicate does
 * no harm. `undefined` when the log no longer has them.
 */
export async function joinChunks(tasks: TaskStore, key: number, run: ChunkRun): Promise<StreamResponse | undefined> {
  let only: TaskArtifactUpdateEvent | undefined;
  let result: TaskArtifactUpdateEvent | undefined;
  let after = run.first - 1;
  while (after < run.last) {
    const page = await tasks.recordsAfter(key, after, Math.min(pageRecords, run.last - after));
    if (page === undefined || page === "compacted" || page.records.length === 0) return undefined;
    for (const record of page.records) {
      after = record.seq;
      const chunk = findChunk(record, run.artifactId);
      if (chunk === undefined) continue;
      result = append(result, chunk);
      // A single complete event is delivered as it is.
      only = record.seq === run.first && !chunk.append ? chunk : undefined;
    }
  }
  const value = only ?? result;
  if (value === undefined) return undefined;
  return { $typeName: typeNames.StreamResponse, payload: { case: "artifactUpdate", value } };
}

function findChunk(record: LogRecord, artifactId: string): TaskArtifactUpdateEvent | undefined {
  if (record.kind !== "event" || record.event.payload.case !== "artifactUpdate") return undefined;
  const { value } = record.event.payload;
  return value.artifact?.artifactId === artifactId ? value : undefined;
}

// Copies what `append` modifies; the rest is shared with the log.
function copyChunk(chunk: TaskArtifactUpdateEvent): TaskArtifactUpdateEvent {
  const { artifact } = chunk;
  const copy = { ...chunk, append: false };
  return artifact === undefined ? copy : { ...copy, artifact: { ...artifact, parts: [...artifact.parts] } };
}

function append(event: TaskArtifactUpdateEvent | undefined, chunk: TaskArtifactUpdateEvent): TaskArtifactUpdateEvent {
  if (event === undefined) return copyChunk(chunk);
  const { artifact, lastChunk, metadata } = chunk;
  if (event.artifact !== undefined && artifact !== undefined) appendChunk(event.artifact, artifact);
  if (metadata !== undefined) event.metadata = { ...event.metadata, ...metadata };
  event.lastChunk = lastChunk;
  return event;
}

/** The task to replay. */
interface ReplayedTask {
  readonly key: number;
  readonly taskId: string;
  readonly scope: Scope;
}

/**
 * Rebuilds a task as of each record of its log, for webhooks that receive whole tasks. The state is kept between
 * records while there is something to deliver.
 */
class TaskReplay {
  readonly #tasks: TaskStore;
  readonly #ref: ReplayedTask;
  #task: Task | undefined;
  #seq = 0;

  constructor(tasks: TaskStore, ref: ReplayedTask) {
    this.#tasks = tasks;
    this.#ref = ref;
  }

  /** The task after a record, valid until the next call. `undefined` when the log no longer reaches back. */
  async at(seq: number): Promise<Task | undefined> {
    if (this.#task === undefined || this.#seq > seq) await this.#begin(seq);
    while (this.#task !== undefined && this.#seq < seq) {
      const limit = Math.min(pageRecords, seq - this.#seq);
      const page = await this.#tasks.recordsAfter(this.#ref.key, this.#seq, limit);
      if (page === undefined || page === "compacted" || page.records.length === 0) this.forget();
      else for (const record of page.records) this.#add(this.#task, record);
    }
    return this.#task;
  }

  forget(): void {
    this.#task = undefined;
  }

  async #begin(seq: number): Promise<void> {
    const { scope, taskId } = this.#ref;
    const storedTask = await this.#tasks.read(scope, taskId);
    if (storedTask === undefined) return this.forget();
    const { head, snapshot } = storedTask;
    const usableSnapshot = snapshot !== undefined && snapshot.seq <= seq ? snapshot : undefined;
    this.#task = usableSnapshot === undefined ? emptyTask(head.id, head.contextId) : copyTask(usableSnapshot.task);
    this.#seq = usableSnapshot?.seq ?? 0;
  }

  #add(task: Task, record: LogRecord): void {
    this.#seq = record.seq;
    if (record.kind === "event") applyEvent(task, record.event);
    if (record.kind !== "message") return;
    settleStatusMessage(task);
    task.history.push(record.message);
  }
}
