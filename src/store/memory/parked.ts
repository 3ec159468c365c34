import type { DueCursor } from "../../core/ports.js";
import { type Position, SortedTasks } from "./sorted-tasks.js";
import type { TaskEntry } from "./task-entry.js";

interface Parked extends Position {
  readonly entry: TaskEntry;
}

interface DuePage {
  readonly limit: number;
  readonly after?: DueCursor | undefined;
}

/** Parked tasks with a wake time, by agent. */
export class ParkedTasks {
  // Times are negated, so that the tasks due first are the newest.
  readonly #agents = new Map<string, SortedTasks<Parked>>();
  readonly #places = new Map<TaskEntry, Parked>();

  /** Sets or clears the wake time of a task. */
  set(entry: TaskEntry, wakeAt: number | undefined): void {
    if (wakeAt === entry.wakeAt) return;
    entry.wakeAt = wakeAt;
    const before = this.#places.get(entry);
    if (before !== undefined) {
      this.#places.delete(entry);
      this.#drop(before);
    }
    if (wakeAt === undefined) return;
    const place = { statusTime: -wakeAt, key: -entry.key, entry };
    this.#places.set(entry, place);
    this.#tasksOf(entry).add(place);
  }

  /** The agent's due tasks, earliest first. */
  due(agent: string, now: number, { limit, after }: DuePage): TaskEntry[] {
    const behind = after === undefined ? undefined : { statusTime: -after.wakeAt, key: -after.key };
    const parked = this.#agents.get(agent)?.page({ limit, since: -now, after: behind }) ?? [];
    return parked.map(({ entry }) => entry);
  }

  clear(): void {
    this.#places.clear();
    this.#agents.clear();
  }

  #tasksOf({ scope }: TaskEntry): SortedTasks<Parked> {
    let tasks = this.#agents.get(scope.agent);
    if (tasks === undefined) {
      tasks = new SortedTasks();
      this.#agents.set(scope.agent, tasks);
    }
    return tasks;
  }

  #drop(place: Parked): void {
    const tasks = this.#tasksOf(place.entry);
    tasks.delete(place);
    if (tasks.size === 0) this.#agents.delete(place.entry.scope.agent);
  }
}
