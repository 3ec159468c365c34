import type { ListQuery } from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import type { TaskState } from "../../protocol/model.js";
import type { TaskEntry } from "./task-entry.js";
import { TaskList } from "./task-list.js";

interface Owned extends Scope {
  readonly list: TaskList<TaskEntry>;
  readonly contexts: Map<string, TaskList<TaskEntry>>;
}

/** Every task in the lists that it may be asked for in. A list that is empty is not kept. */
export class TaskIndex {
  readonly #tenants = new Map<string, Map<string, Owned>>();

  /** The lists of a task that is about to be made. */
  lists(scope: Scope, contextId: string): TaskEntry["lists"] {
    const owned = this.#owned(scope);
    let context = owned.contexts.get(contextId);
    if (context === undefined) {
      context = new TaskList();
      owned.contexts.set(contextId, context);
    }
    return [owned.list, context];
  }

  add(entry: TaskEntry): void {
    for (const list of entry.lists) list.add(entry);
  }

  /** Gives a task its new status. Most tasks go through their states within one millisecond and keep their place. */
  setStatus(entry: TaskEntry, state: TaskState, time: number): void {
    const stays = time === entry.statusTime;
    for (const list of entry.lists) stays ? list.deleteState(entry) : list.delete(entry);
    entry.state = state;
    entry.statusTime = time;
    for (const list of entry.lists) stays ? list.addState(entry) : list.add(entry);
  }

  delete(entry: TaskEntry): void {
    const { scope, contextId } = entry;
    const [list, context] = entry.lists;
    const owners = this.#tenants.get(scope.tenant);
    const owned = owners?.get(scope.owner);
    list.delete(entry);
    // Most contexts have a single task and go with it.
    if (context.all.size === 1) owned?.contexts.delete(contextId);
    else context.delete(entry);
    if (list.all.size === 0) owners?.delete(scope.owner);
    if (owners?.size === 0) this.#tenants.delete(scope.tenant);
  }

  list(scope: Scope, { contextId, state, limit, after, since }: ListQuery) {
    const owned = this.#tenants.get(scope.tenant)?.get(scope.owner);
    const list = contextId === undefined ? owned?.list : owned?.contexts.get(contextId);
    if (list === undefined) return { entries: [], total: 0, more: false };
    const tasks = state === undefined ? list.all : list.inState(state);
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
      owned = { tenant, owner, list: new TaskList(), contexts: new Map() };
      owners.set(owner, owned);
    }
    return owned;
  }
}
