import { eventIdOf, withoutEventId } from "../protocol/extensions.js";
import { applyEvent, copyTask, emptyTask } from "../protocol/fold.js";
import { type StreamResponse, type Task, TaskState } from "../protocol/model.js";
import type { StreamItem } from "../protocol/operations.js";
import { differenceOf } from "./difference.js";

/**
 * What the reader of a stream has heard of its task, so that it can go on after a break. Of an agent that numbers its
 * events the last number is enough; of others the task itself is kept, to be compared with what it has become.
 */
export class TaskView {
  taskId = "";
  contextId = "";
  /** Id of the last event. */
  lastId: string | undefined;
  state: TaskState = TaskState.UNSPECIFIED;
  /** A message was the answer: there is no task. */
  answered = false;
  #task: Task | undefined;

  /** Takes note of an event on its way to the reader. */
  see(item: StreamItem): void {
    const { payload } = item.response;
    if (payload.case === undefined) return;
    if (payload.case === "message") {
      this.answered = true;
      return;
    }
    this.taskId = (payload.case === "task" ? payload.value.id : payload.value.taskId) || this.taskId;
    this.contextId = payload.value.contextId || this.contextId;
    if (payload.case !== "artifactUpdate") this.state = payload.value.status?.state ?? this.state;
    // What was made from a difference is in the task already.
    if (item.recovered === undefined) this.#keep(item);
  }

  /** What the reader has missed, now that the task turns out to be this. */
  missed(task: Task, id: string | undefined): readonly StreamItem[] {
    const known = this.#task;
    const events = known === undefined ? undefined : differenceOf(known, task);
    this.#task = id === undefined ? copyTask(task) : undefined;
    this.lastId = id;
    this.state = task.status?.state ?? this.state;
    return (
      events?.map((response) => ({ response, recovered: "difference" })) ?? [
        { ...taskItem(task, id), recovered: "resync" },
      ]
    );
  }

  // An agent that numbers some of its events only is taken for one that numbers none.
  #keep({ response, id }: StreamItem): void {
    this.lastId = id;
    if (id !== undefined) {
      this.#task = undefined;
    } else if (response.payload.case === "task") {
      this.#task = copyTask(response.payload.value);
    } else {
      this.#task ??= emptyTask(this.taskId, this.contextId);
      applyEvent(this.#task, response);
    }
  }
}

/** A task as an event. */
export function taskItem(task: Task, id?: string): StreamItem {
  const response: StreamResponse = { $typeName: "lf.a2a.v1.StreamResponse", payload: { case: "task", value: task } };
  return { response, id };
}

/** An item with its event id where it belongs, also when the event brought it along in its metadata. */
export function numbered(item: StreamItem): StreamItem {
  const id = eventIdOf(item.response);
  return id === undefined ? item : { ...item, id: item.id ?? id, response: withoutEventId(item.response) };
}
