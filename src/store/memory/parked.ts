import type { DueCursor } from "../../core/ports.js";
import { type Position, SortedTasks } from "./sorted-tasks.js";
import type { TaskEntry } from "./task-entry.js";

interface Parked extends Position {
  readonly entry: TaskEntry;
}

/** Tasks that are to be woken at a time. */
export class ParkedTasks {
  // What lies ahead is negative here, so that the first to be woken are the newest.
  #tasks = new SortedTasks<Parked>();
  readonly #places = new Map<TaskEntry, Parked>();

  /** Gives a task its time, or takes it back. */
  set(entry: TaskEntry, wakeAt: number | undefined): void {
    if (wakeAt === entry.wakeAt) return;
    entry.wakeAt = wakeAt;
    const before = this.#places.get(entry);
    if (before !== undefined) {
      this.#places.delete(entry);
      this.#tasks.delete(before);
    }
    if (wakeAt === undefined) return;
    const place = { statusTime: -wakeAt, key: -entry.key, entry };
    this.#places.set(entry, place);
    this.#tasks.add(place);
  }

  /** Those whose time has come, the earliest first. */
  due(now: number, limit: number, after?: DueCursor): TaskEntry[] {
    const behind = after === undefined ? undefined : { statusTime: -after.wakeAt, key: -after.key };
    return this.#tasks.page({ limit, since: -now, after: behind }).map(({ entry }) => entry);
  }

  clear(): void {
    this.#places.clear();
    this.#tasks = new SortedTasks();
  }
}
