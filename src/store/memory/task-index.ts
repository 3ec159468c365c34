import type { ListQuery } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import type { TaskState } from "../../protocol/model.js";
import { SortedTasks } from "./sorted-tasks.js";
import type { TaskEntry } from "./task-entry.js";

type Tasks = SortedTasks<TaskEntry>;

/** Up to this size a shelf is searched for the tasks of one state; above it, it keeps them apart. */
const plainMax = 64;

/** The tasks of an owner, or of one of their contexts, newest status first, also by state. */
export class Shelf {
  readonly all: Tasks = new SortedTasks();
  #byState: Map<TaskState, Tasks> | undefined;

  add(entry: TaskEntry): void {
    this.all.add(entry);
    this.addState(entry);
  }

  delete(entry: TaskEntry): void {
    this.all.delete(entry);
    this.deleteState(entry);
  }

  addState(entry: TaskEntry): void {
    if (this.#byState !== undefined) stateOf(this.#byState, entry.state).add(entry);
    else if (this.all.size > plainMax) this.#byState = groupByState(this.all);
  }

  deleteState(entry: TaskEntry): void {
    this.#byState?.get(entry.state)?.delete(entry);
  }

  inState(state: TaskState): Tasks {
    return stateOf(this.#byState ?? groupByState(this.all), state);
  }
}

function groupByState(tasks: Tasks): Map<TaskState, Tasks> {
  const groups = new Map<TaskState, Tasks>();
  for (const entry of tasks) stateOf(groups, entry.state).add(entry);
  return groups;
}

function stateOf(groups: Map<TaskState, Tasks>, state: TaskState): Tasks {
  let tasks = groups.get(state);
  if (tasks === undefined) {
    tasks = new SortedTasks();
    groups.set(state, tasks);
  }
  return tasks;
}

interface Owned extends Scope {
  readonly shelf: Shelf;
  readonly contexts: Map<string, Shelf>;
}

/** Every task in the lists that it may be asked for in. A list that is empty is not kept. */
export class TaskIndex {
  readonly #tenants = new Map<string, Map<string, Owned>>();

  /** The lists of a task that is about to be made. */
  shelves(scope: Scope, contextId: string): readonly [Shelf, Shelf] {
    const owned = this.#owned(scope);
    let context = owned.contexts.get(contextId);
    if (context === undefined) {
      context = new Shelf();
      owned.contexts.set(contextId, context);
    }
    return [owned.shelf, context];
  }

  add(entry: TaskEntry): void {
    for (const shelf of entry.shelves) shelf.add(entry);
  }

  /** Gives a task its new status. Most tasks go through their states within one millisecond and keep their place. */
  setStatus(entry: TaskEntry, state: TaskState, time: number): void {
    const stays = time === entry.statusTime;
    for (const shelf of entry.shelves) stays ? shelf.deleteState(entry) : shelf.delete(entry);
    entry.state = state;
    entry.statusTime = time;
    for (const shelf of entry.shelves) stays ? shelf.addState(entry) : shelf.add(entry);
  }

  delete(entry: TaskEntry): void {
    const { scope, contextId } = entry;
    const [shelf, context] = entry.shelves;
    const owners = this.#tenants.get(scope.tenant);
    const owned = owners?.get(scope.owner);
    shelf.delete(entry);
    // Most contexts have a single task and go with it.
    if (context.all.size === 1) owned?.contexts.delete(contextId);
    else context.delete(entry);
    if (shelf.all.size === 0) owners?.delete(scope.owner);
    if (owners?.size === 0) this.#tenants.delete(scope.tenant);
  }

  list(scope: Scope, { contextId, state, limit, after, since }: ListQuery) {
    const owned = this.#tenants.get(scope.tenant)?.get(scope.owner);
    const shelf = contextId === undefined ? owned?.shelf : owned?.contexts.get(contextId);
    if (shelf === undefined) return { entries: [], total: 0, more: false };
    const tasks = state === undefined ? shelf.all : shelf.inState(state);
    const entries = tasks.page({ limit: limit + 1, after, since });
    const more = entries.length > limit;
    if (more) entries.pop();
    return { entries, total: since === undefined ? tasks.size : tasks.countSince(since), more };
  }

  clear(): void {
    this.#tenants.clear();
  }

  #owned({ tenant, owner }: Scope): Owned {
    let owners = this.#tenants.get(tenant);
    if (owners === undefined) {
      owners = new Map();
      this.#tenants.set(tenant, owners);
    }
    let owned = owners.get(owner);
    if (owned === undefined) {
      owned = { tenant, owner, shelf: new Shelf(), contexts: new Map() };
      owners.set(owner, owned);
    }
    return owned;
  }
}
