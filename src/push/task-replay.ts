import type { LogRecord, TaskStore } from "../core/ports.js";
import type { Scope } from "../protocol/context.js";
import { applyEvent, copyTask, emptyTask, settleStatusMessage } from "../protocol/fold.js";
import type { Task } from "../protocol/model.js";
import { pageRecords } from "./join-chunks.js";

/** The task to replay. */
export interface ReplayedTask {
  readonly key: number;
  readonly taskId: string;
  readonly scope: Scope;
}

/**
 * Rebuilds a task as of each record of its log, for webhooks that receive whole tasks. The state is kept between
 * records while there is something to deliver.
 */
export class TaskReplay {
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
