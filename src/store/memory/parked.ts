import type { DueCursor } from "../../core/ports.js";
import { isTerminal } from "../../protocol/states.js";
import type { ParkedCount } from "../../protocol/telemetry/follow.js";
import { type Position, SortedTasks } from "./sorted-tasks.js";
import type { TaskEntry } from "./task-entry.js";

interface TimedTask extends Position {
  readonly entry: TaskEntry;
}

interface DuePage {
  readonly limit: number;
  readonly after?: DueCursor | undefined;
}

/** The parked tasks of an agent. */
interface AgentTasks {
  // Times are negated, so that the tasks due first are the newest.
  readonly timed: SortedTasks<TimedTask>;
  readonly untimed: Set<TaskEntry>;
}

/** Unfinished tasks without a holder, by agent. */
export class ParkedTasks {
  readonly #agents = new Map<string, AgentTasks>();
  readonly #positions = new Map<TaskEntry, TimedTask>();

  /** Sets or clears the wake time of a task. */
  set(entry: TaskEntry, wakeAt: number | undefined): void {
    if (wakeAt === entry.wakeAt) return;
    entry.wakeAt = wakeAt;
    const before = this.#positions.get(entry);
    if (before !== undefined) {
      this.#positions.delete(entry);
      this.#findTasks(entry).timed.delete(before);
    }
    if (wakeAt === undefined) return this.#dropEmpty(entry);
    const position = { statusTime: -wakeAt, key: -entry.key, entry };
    this.#positions.set(entry, position);
    this.#findTasks(entry).timed.add(position);
  }

  /** Notes whether a task that was written waits without a time. */
  note(entry: TaskEntry): void {
    const waits = !isTerminal(entry.state) && entry.holder === undefined && entry.wakeAt === undefined;
    if (waits === entry.waits) return;
    entry.waits = waits;
    const { untimed } = this.#findTasks(entry);
    if (waits) untimed.add(entry);
    else untimed.delete(entry);
    this.#dropEmpty(entry);
  }

  /** The agent's due tasks, earliest first. */
  due(agent: string, now: number, { limit, after }: DuePage): TaskEntry[] {
    const behind = after === undefined ? undefined : { statusTime: -after.wakeAt, key: -after.key };
    const timed = this.#agents.get(agent)?.timed.page({ limit, since: -now, after: behind }) ?? [];
    return timed.map(({ entry }) => entry);
  }

  /** The agent's tasks without a wake time, in any order. */
  untimed(agent: string): TaskEntry[] {
    return [...(this.#agents.get(agent)?.untimed ?? [])];
  }

  count(agent: string): ParkedCount {
    const tasks = this.#agents.get(agent);
    return { timed: tasks?.timed.size ?? 0, untimed: tasks?.untimed.size ?? 0 };
  }

  clear(): void {
    this.#positions.clear();
    this.#agents.clear();
  }

  #findTasks({ scope }: TaskEntry): AgentTasks {
    const tasks = this.#agents.get(scope.agent) ?? { timed: new SortedTasks(), untimed: new Set() };
    this.#agents.set(scope.agent, tasks);
    return tasks;
  }

  #dropEmpty({ scope }: TaskEntry): void {
    const { timed, untimed } = this.count(scope.agent);
    if (timed + untimed === 0) this.#agents.delete(scope.agent);
  }
}
