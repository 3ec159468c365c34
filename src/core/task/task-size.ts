import type { Task } from "../../protocol/model.js";
import type { StoredTask } from "../ports.js";
import { sizeOfRecord, sizeOfTask } from "./size.js";

const leastSnapshotBytes = 64 << 10;

/** How large a task has become: all that it holds, its last snapshot, and its log since that. */
export class TaskSize {
  #task = 0;
  #snapshot = 0;
  #log = 0;

  /** Counts what is stored of a task that goes on; `task` is the fold of it. */
  resume({ snapshot, records }: StoredTask, task: Task): void {
    this.#task = sizeOfTask(task);
    this.#snapshot = snapshot === undefined ? 0 : sizeOfTask(snapshot.task);
    for (const record of records) this.#log += sizeOfRecord(record);
  }

  /** Counts the content of an event, which may be less than before when it replaces some. False when it is too much. */
  grow(bytes: number, maxBytes: number): boolean {
    if (this.#task + bytes > maxBytes) return false;
    this.#task += bytes;
    return true;
  }

  /**
   * Counts a write to the log. Gives the size of the snapshot that goes along when the log has outgrown the last one, and
   * with the end of the task: then a read costs at most twice the task, and its cost is spread over the events that made
   * it necessary.
   */
  written(bytes: number, finished: boolean): number | undefined {
    this.#log += bytes;
    if (!finished && this.#log < Math.max(this.#snapshot, leastSnapshotBytes)) return undefined;
    this.#snapshot += this.#log;
    this.#log = 0;
    return this.#snapshot;
  }
}
