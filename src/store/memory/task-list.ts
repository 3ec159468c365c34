import type { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { type Position, SortedTasks } from "./sorted-tasks.js";

interface ListedTask extends Position {
  readonly state: TaskState;
}

/** Up to this size a list is scanned for the tasks of one state; above it, states are kept separately. */
const plainMax = 64;

/** The tasks of an owner or of one of its contexts, newest status first, also by state. */
export class TaskList<T extends ListedTask> {
  readonly all = new SortedTasks<T>();
  #byState: Map<TaskState, SortedTasks<T>> | undefined;
  #unfinishedCount = 0;

  /** How many of the tasks have not ended. */
  get unfinishedCount(): number {
    return this.#unfinishedCount;
  }

  add(entry: T): void {
    this.all.add(entry);
    this.addState(entry);
  }

  delete(entry: T): void {
    this.all.delete(entry);
    this.deleteState(entry);
  }

  addState(entry: T): void {
    if (!isTerminal(entry.state)) this.#unfinishedCount += 1;
    if (this.#byState !== undefined) stateOf(this.#byState, entry.state).add(entry);
    else if (this.all.size > plainMax) this.#byState = groupByState(this.all);
  }

  deleteState(entry: T): void {
    if (!isTerminal(entry.state)) this.#unfinishedCount -= 1;
    this.#byState?.get(entry.state)?.delete(entry);
  }

  inState(state: TaskState): SortedTasks<T> {
    return stateOf(this.#byState ?? groupByState(this.all), state);
  }
}

function groupByState<T extends ListedTask>(tasks: SortedTasks<T>): Map<TaskState, SortedTasks<T>> {
  const groups = new Map<TaskState, SortedTasks<T>>();
  for (const entry of tasks) stateOf(groups, entry.state).add(entry);
  return groups;
}

function stateOf<T extends ListedTask>(groups: Map<TaskState, SortedTasks<T>>, state: TaskState): SortedTasks<T> {
  let tasks = groups.get(state);
  if (tasks === undefined) {
    tasks = new SortedTasks();
    groups.set(state, tasks);
  }
  return tasks;
}
