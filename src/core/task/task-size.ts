import { sizeOfTask } from "../../protocol/check/size.js";
import type { Task } from "../../protocol/model.js";
import type { StoredTask } from "../ports.js";
import { sizeOfRecord } from "./record-size.js";

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

  /** Counts a message of the caller's: it was let in before. */
  took(bytes: number): void {
    this.#task += bytes;
  }

  /**
   * Counts a write to the log. True when a snapshot goes along: at the end of the task, and when the log has outgrown the
   * last one. A read then costs at most twice the task, and its cost is spread over the events that made it necessary.
   */
  written(bytes: number, finished: boolean): boolean {
    this.#log += bytes;
    return finished || this.#log >= Math.max(this.#snapshot, leastSnapshotBytes);
  }

  /** Counts a snapshot, in which all of the log is. */
  snapped(bytes: number): void {
    this.#snapshot = bytes;
    this.#log = 0;
  }
}
