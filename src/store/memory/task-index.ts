import type { ListQuery } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import type { TaskState } from "../../protocol/model.js";
import type { TaskEntry } from "./task-entry.js";
import { TaskList } from "./task-list.js";

interface OwnedTasks {
  readonly list: TaskList<TaskEntry>;
  readonly contexts: Map<string, TaskList<TaskEntry>>;
}

/** Every task in each list that can be queried. Empty lists are removed. */
export class TaskIndex {
  readonly #agents = new Map<string, Map<string, Map<string, OwnedTasks>>>();

  /** The lists of a new task. */
  lists(scope: Scope, contextId: string): TaskEntry["lists"] {
    const { list, contexts } = this.#tasksOf(scope);
    return [list, memberOf(contexts, contextId, () => new TaskList())];
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

  #tasksOf({ agent, tenant, owner }: Scope): OwnedTasks {
    const tenants = memberOf(this.#agents, agent, () => new Map<string, Map<string, OwnedTasks>>());
    const owners = memberOf(tenants, tenant, () => new Map<string, OwnedTasks>());
    return memberOf(owners, owner, () => ({ list: new TaskList(), contexts: new Map() }));
  }
}

/** Returns a map's value, created if it is missing. */
function memberOf<T>(map: Map<string, T>, name: string, make: () => T): T {
  let member = map.get(name);
  if (member === undefined) {
    member = make();
    map.set(name, member);
  }
  return member;
}
