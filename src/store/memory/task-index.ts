import type { ListQuery } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import type { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { type Position, SortedTasks } from "./sorted-tasks.js";
import type { TaskEntry } from "./task-entry.js";

// The lists of tasks, for ListTasks and for the count of unfinished tasks. A task is in two lists: that of its owner at an
// agent, and that of its context. A list is sorted by status time, and once it is long also by state.

interface OwnedTasks {
  readonly list: TaskList<TaskEntry>;
  readonly contexts: Map<string, TaskList<TaskEntry>>;
}

/** Every task in each list that can be queried. Empty lists are removed. */
export class TaskIndex {
  readonly #agents = new Map<string, Map<string, Map<string, OwnedTasks>>>();

  /** The lists of a new task. */
  lists(scope: Scope, contextId: string): TaskEntry["lists"] {
    const { list, contexts } = this.#findTasks(scope);
    return [list, getOrCreate(contexts, contextId, () => new TaskList())];
  }

  add(entry: TaskEntry): void {
    for (const list of entry.lists) list.add(entry);
  }

  /** Sets the new status of a task. Most tasks change states within one millisecond and keep their position. */
  setStatus(entry: TaskEntry, state: TaskState, time: number): void {
    const keepsPosition = time === entry.statusTime;
    for (const list of entry.lists) keepsPosition ? list.deleteState(entry) : list.delete(entry);
    entry.state = state;
    entry.statusTime = time;
    for (const list of entry.lists) keepsPosition ? list.addState(entry) : list.add(entry);
  }

  delete(entry: TaskEntry): void {
    const { scope, contextId } = entry;
    const [list, context] = entry.lists;
    const tenants = this.#agents.get(scope.agent);
    const owners = tenants?.get(scope.tenant);
    const ownerTasks = owners?.get(scope.owner);
    list.delete(entry);
    // Most contexts have a single task and are removed with it.
    if (context.all.size === 1) ownerTasks?.contexts.delete(contextId);
    else context.delete(entry);
    if (list.all.size === 0) owners?.delete(scope.owner);
    if (owners?.size === 0) tenants?.delete(scope.tenant);
    if (tenants?.size === 0) this.#agents.delete(scope.agent);
  }

  list(scope: Scope, { contextId, state, limit, after, since }: ListQuery) {
    const ownerTasks = this.#agents.get(scope.agent)?.get(scope.tenant)?.get(scope.owner);
    const list = contextId === undefined ? ownerTasks?.list : ownerTasks?.contexts.get(contextId);
    if (list === undefined) return { entries: [], total: 0, more: false };
    const tasks = state === undefined ? list.all : list.inState(state);
    const entries = tasks.page({ limit: limit + 1, after, since });
    const more = entries.length > limit;
    if (more) entries.pop();
    return { entries, total: since === undefined ? tasks.size : tasks.countSince(since), more };
  }

  /** The number of tasks in a scope that have not ended. */
  unfinished(scope: Scope): number {
    return this.#agents.get(scope.agent)?.get(scope.tenant)?.get(scope.owner)?.list.unfinishedCount ?? 0;
  }

  clear(): void {
    this.#agents.clear();
  }

  #findTasks({ agent, tenant, owner }: Scope): OwnedTasks {
    const tenants = getOrCreate(this.#agents, agent, () => new Map<string, Map<string, OwnedTasks>>());
    const owners = getOrCreate(tenants, tenant, () => new Map<string, OwnedTasks>());
    return getOrCreate(owners, owner, () => ({ list: new TaskList(), contexts: new Map() }));
  }
}

/** Returns a map's value, created if it is missing. */
function getOrCreate<T>(map: Map<string, T>, name: string, make: () => T): T {
  let member = map.get(name);
  if (member === undefined) {
    member = make();
    map.set(name, member);
  }
  return member;
}

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
    if (this.#byState !== undefined) listState(this.#byState, entry.state).add(entry);
    else if (this.all.size > plainMax) this.#byState = groupByState(this.all);
  }

  deleteState(entry: T): void {
    if (!isTerminal(entry.state)) this.#unfinishedCount -= 1;
    this.#byState?.get(entry.state)?.delete(entry);
  }

  inState(state: TaskState): SortedTasks<T> {
    return listState(this.#byState ?? groupByState(this.all), state);
  }
}

function groupByState<T extends ListedTask>(tasks: SortedTasks<T>): Map<TaskState, SortedTasks<T>> {
  const groups = new Map<TaskState, SortedTasks<T>>();
  for (const entry of tasks) listState(groups, entry.state).add(entry);
  return groups;
}

function listState<T extends ListedTask>(groups: Map<TaskState, SortedTasks<T>>, state: TaskState): SortedTasks<T> {
  let tasks = groups.get(state);
  if (tasks === undefined) {
    tasks = new SortedTasks();
    groups.set(state, tasks);
  }
  return tasks;
}
