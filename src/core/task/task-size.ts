import { sizeOfTask } from "../../protocol/check/size.js";
import { A2AError } from "../../protocol/errors.js";
import type { Task } from "../../protocol/model.js";
import type { StoredTask } from "../ports.js";
import { sizeOfRecord } from "./record-size.js";

const leastSnapshotBytes = 64 << 10;

/** The sizes of a task: its content, its last snapshot, and the log since that snapshot. */
export class TaskSize {
  readonly #hold: (bytes: number) => void;
  #task = 0;
  #snapshot = 0;
  #log = 0;

  /** `hold` is called with the change of the content's size in bytes. */
  constructor(hold: (bytes: number) => void) {
    this.#hold = hold;
  }

  /** Size of the content. */
  get task(): number {
    return this.#task;
  }

  /** Initializes the sizes of a continued task from what is stored; `task` is its fold. */
  resume({ snapshot, records }: StoredTask, task: Task): void {
    this.#task = sizeOfTask(task);
    this.#snapshot = snapshot === undefined ? 0 : sizeOfTask(snapshot.task);
    for (const record of records) this.#log += sizeOfRecord(record);
  }

  /** Adds the size of an event's content, which is negative when it replaces more. Returns false over the limit. */
  grow(bytes: number, maxBytes: number): boolean {
    if (this.#task + bytes > maxBytes) return false;
    this.#task += bytes;
    this.#hold(bytes);
    return true;
  }

  /** Adds a message of the caller, which was admitted before. */
  addMessage(bytes: number): void {
    this.#task += bytes;
    this.#hold(bytes);
  }

  /**
   * Counts a write to the log. Returns true when it needs a snapshot: at the end of the task, and when the log has
   * outgrown the last one. A read then costs at most twice the task, and the cost of snapshots is amortized over the
   * events between them.
   */
  countWrite(bytes: number, endsTask: boolean): boolean {
    this.#log += bytes;
    return endsTask || this.#log >= Math.max(this.#snapshot, leastSnapshotBytes);
  }

  /** Counts a snapshot, which replaces the log before it. */
  countSnapshot(bytes: number): void {
    this.#snapshot = bytes;
    this.#log = 0;
  }
}

/** The error for a task whose history takes no more messages. */
export function historyFull(maxMessages: number): A2AError {
  return new A2AError(
    "resourceExhausted",
    `the history of the task is full: the limit is ${maxMessages} messages (historyMaxMessages)`,
    { metadata: { limit: "historyMaxMessages" } },
  );
}

/** The error for an event that exceeds the limit of this name. */
export function tooLarge(subject: string, limit: "eventMaxBytes" | "taskMaxBytes", maxBytes: number): A2AError {
  return new A2AError("resourceExhausted", `${subject} is over the limit of ${maxBytes} bytes (${limit})`, {
    metadata: { limit },
  });
}
