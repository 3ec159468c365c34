import type { Clock } from "../../core/ports.js";
import type { Instance, TaskEntry } from "./task-entry.js";

interface Holder extends Instance {
  renewedAt: number;
  expiresAt: number;
  readonly tasks: Set<TaskEntry>;
}

const longAgo = Number.NEGATIVE_INFINITY;

/** Which instance runs which task. An unregistered instance counts as expired. */
export class Instances {
  readonly #clock: Clock;
  readonly #holders = new Map<string, Holder>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the store's time. */
  renew(name: string, ttlMs: number): number {
    this.#forgetIdle();
    const now = this.#clock.now();
    for (const holder of this.#holders.values()) if (holder.renewedAt > now) holder.expiresAt = longAgo;
    Object.assign(this.#holder(name), { renewedAt: now, expiresAt: now + ttlMs });
    return now;
  }

  retire(name: string): void {
    const holder = this.#holders.get(name);
    if (holder !== undefined) holder.expiresAt = longAgo;
    this.#forgetIdle();
  }

  /** Durations other than `ttlMs` for which live instances were renewed. */
  otherTtls(ttlMs: number): number[] {
    const now = this.#clock.now();
    const live = [...this.#holders.values()].filter(({ expiresAt }) => now < expiresAt);
    const ttls = new Set(live.map(({ expiresAt, renewedAt }) => expiresAt - renewedAt));
    ttls.delete(ttlMs);
    return [...ttls].slice(0, 10);
  }

  /** Whether an instance is registered and has not expired. */
  isLive(name: string): boolean {
    const holder = this.#holders.get(name);
    return holder !== undefined && this.#clock.now() < holder.expiresAt;
  }

  /** Assigns a task to an instance; `""` leaves it without a holder. */
  assign(entry: TaskEntry, name: string): void {
    const before = entry.holder;
    if ((before?.name ?? "") === name) return;
    if (before !== undefined) this.#release(entry, before);
    if (name === "") return;
    const holder = this.#holder(name);
    holder.tasks.add(entry);
    entry.holder = holder;
  }

  /** The agent's tasks whose holder is not live, by ascending key. */
  orphans(agent: string, limit: number, after = 0): TaskEntry[] {
    const now = this.#clock.now();
    const entries: TaskEntry[] = [];
    for (const { expiresAt, tasks } of this.#holders.values()) {
      if (now < expiresAt) continue;
      for (const entry of tasks) if (entry.key > after && entry.scope.agent === agent) entries.push(entry);
    }
    return entries.sort((a, b) => a.key - b.key).slice(0, limit);
  }

  clear(): void {
    this.#holders.clear();
  }

  #holder(name: string): Holder {
    let holder = this.#holders.get(name);
    if (holder === undefined) {
      holder = { name, renewedAt: longAgo, expiresAt: longAgo, tasks: new Set() };
      this.#holders.set(name, holder);
    }
    return holder;
  }

  #release(entry: TaskEntry, { name }: Instance): void {
    const holder = this.#holders.get(name);
    holder?.tasks.delete(entry);
    entry.holder = undefined;
    if (holder?.tasks.size === 0 && holder.expiresAt === longAgo) this.#holders.delete(name);
  }

  /** Instances come and go with processes: expired ones that hold nothing are removed. */
  #forgetIdle(): void {
    const now = this.#clock.now();
    for (const holder of this.#holders.values()) {
      if (holder.tasks.size === 0 && holder.expiresAt <= now) this.#holders.delete(holder.name);
    }
  }
}
