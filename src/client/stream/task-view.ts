import { mergeInPlace } from "../../protocol/artifact-chunks.js";
import { readEventId, withoutEventId } from "../../protocol/extensions.js";
import { applyEvent, copyTask, emptyTask } from "../../protocol/fold.js";
import { type StreamResponse, type Task, TaskState, typeNames } from "../../protocol/model.js";
import type { StreamItem } from "../../protocol/operations.js";
import { endsBlockingSend, isTerminal } from "../../protocol/states.js";

export interface TaskViewOptions {
  /** The reader follows the task to its end, not only until it asks for input. */
  readonly toTheEnd: boolean;
  /** The task existed before the stream, whose first event may therefore show an old state. */
  readonly existedBefore: boolean;
  /** The agent resumes after an event id. */
  readonly numbers: boolean;
}

/**
 * The task as the reader of a stream has received it, so that the stream can continue after a break. For an agent
 * that numbers its events the last id is enough; for others the task itself is kept, to be compared with its later
 * state.
 */
export class TaskView {
  taskId = "";
  /** Id of the last event. */
  lastId: string | undefined;
  state: TaskState = TaskState.UNSPECIFIED;
  /** A message was the answer: there is no task. */
  answered = false;
  /** Events followed a snapshot that may already include some of them, or lack what came between. */
  isDoubtful = false;
  readonly #options: TaskViewOptions;
  readonly #merge = mergeInPlace();
  #contextId = "";
  #isStated = false;
  /** The state was reached within this stream. */
  #isStateNew: boolean;
  /** The fold of everything received; `undefined` before the first event, and when some of it was not kept. */
  #task: Task | undefined;
  #isKept = true;
  /** The last complete view is a snapshot of a running task. */
  #isJoint = false;

  /** The reader follows the task to its end. */
  get toTheEnd(): boolean {
    return this.#options.toTheEnd;
  }

  constructor(options: TaskViewOptions) {
    this.#options = options;
    this.#isStateNew = !options.existedBefore;
  }

  /**
   * Nothing more is expected: a message was the answer, the task has ended, or it has asked for input since the stream
   * began.
   */
  get isDone(): boolean {
    if (this.answered || isTerminal(this.state)) return true;
    return !this.#options.toTheEnd && this.#isStateNew && this.state === TaskState.INPUT_REQUIRED;
  }

  /** The agent does not know the task's state, or reports an unknown one: it may never send more. */
  get isLost(): boolean {
    return this.#isStated && this.state === TaskState.UNSPECIFIED;
  }

  /** The task completed, and the stream had neither artifact nor message: some agents only store their artifacts. */
  get isBare(): boolean {
    const task = this.#task;
    return (
      this.state === TaskState.COMPLETED &&
      task !== undefined &&
      task.artifacts.length === 0 &&
      task.status?.message === undefined
    );
  }

  /** Records an event on its way to the reader. */
  record(item: StreamItem): void {
    const { payload } = item.response;
    if (payload.case === undefined) return;
    if (payload.case === "message") {
      this.answered = true;
      return;
    }
    const isFirst = this.taskId === "";
    this.taskId = (payload.case === "task" ? payload.value.id : payload.value.taskId) || this.taskId;
    this.#contextId = payload.value.contextId || this.#contextId;
    if (payload.case !== "artifactUpdate" && payload.value.status !== undefined) {
      this.state = payload.value.status.state;
      this.#isStated = true;
      this.#isStateNew ||= !isFirst || payload.case === "statusUpdate";
    }
    // A recovered event was recorded when it was found.
    if (item.recovered !== undefined) return;
    this.#keep(item);
    if (payload.case === "task") this.#isJoint ||= this.#options.toTheEnd;
    this.isDoubtful = payload.case !== "task" && this.#isJoint && this.#task !== undefined;
  }

  /** The events that the reader missed, given the current task. `id`: that of the snapshot. */
  async catchUp(task: Task, id: string | undefined): Promise<readonly StreamItem[]> {
    const snapshot = taskItem(task, id);
    const events = this.#task === undefined ? undefined : (await loadComparison())?.findDifference(this.#task, task);
    this.#keep(snapshot);
    this.isDoubtful = false;
    this.#isJoint = true;
    return events?.map((response) => ({ response, recovered: "difference" })) ?? [{ ...snapshot, recovered: "resync" }];
  }

  /** The whole task if it differs from what was delivered, unless the agent's copy is behind. */
  async repair(task: Task): Promise<StreamItem | undefined> {
    this.isDoubtful = false;
    if (!endsBlockingSend(task.status?.state ?? TaskState.UNSPECIFIED) || !(await this.differsFrom(task)))
      return undefined;
    this.#keep(taskItem(task));
    return { ...taskItem(task), recovered: "resync" };
  }

  /** Whether a task differs from what was received of it. */
  async differsFrom(task: Task): Promise<boolean> {
    if (this.#task === undefined) return false;
    return (await loadComparison())?.isSameContent(this.#task, task) === false;
  }

  // An agent that numbers only some events is treated as one that numbers none.
  #keep({ response, id }: StreamItem): void {
    const { payload } = response;
    this.lastId = this.#options.numbers ? id : undefined;
    if (this.lastId !== undefined) {
      this.#task = undefined;
      this.#isKept = false;
    } else if (payload.case === "task") {
      this.#task = copyTask(payload.value);
      this.#isKept = true;
    } else if (this.#isKept) {
      this.#task ??= emptyTask(this.taskId, this.#contextId);
      applyEvent(this.#task, response, this.#merge);
    }
  }
}

/** A task as an event. */
export function taskItem(task: Task, id?: string): StreamItem {
  const response: StreamResponse = { $typeName: typeNames.StreamResponse, payload: { case: "task", value: task } };
  return { response, id };
}

/** An item with its event id in place, even if the event carried it in its metadata. */
export function withId(item: StreamItem): StreamItem {
  const id = readEventId(item.response);
  return id === undefined ? item : { ...item, id: item.id ?? id, response: withoutEventId(item.response) };
}

/** Rarely needed. If it cannot be loaded, the whole task is delivered instead. */
function loadComparison(): Promise<typeof import("./difference.js") | undefined> {
  return import("./difference.js").catch(() => undefined);
}
