import type { TaskStore } from "../core/ports.js";
import type { StreamResponse, Task } from "../protocol/model.js";
import type { AskStore } from "./ask-store.js";
import { joinChunks } from "./join-chunks.js";
import type { Due } from "./plan.js";
import { type ReplayedTask, TaskReplay } from "./task-replay.js";

/** A due event, as a log position where that is enough to read it again: the task or the event at a record. */
export type DueEvent = Due | { readonly kind: "task" | "record"; readonly seq: number };

/** The same without the event itself. */
export function positionOf(due: DueEvent, seq: number): DueEvent {
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
  return { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } };
}
