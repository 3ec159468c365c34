import type { Principal } from "../protocol/context.js";
import { ownerKey } from "../protocol/fair-share.js";

/** How many names to keep; the least recently used are dropped. */
export interface TaskNameLimits {
  readonly namesPerPrincipal: number;
  readonly principals: number;
}

const defaultTaskNameLimits: TaskNameLimits = { namesPerPrincipal: 10_000, principals: 1_000 };

/**
 * The names that callers give tasks, in versions with such names, and the ids that the agent assigned. Kept only in
 * memory: names are forgotten after a restart and over the limit.
 */
export class RememberedNames {
  readonly #limits: TaskNameLimits;
  readonly #ids = new Map<string, Map<string, string>>();
  readonly #openings = new Map<string, Promise<void>>();

  constructor(limits: TaskNameLimits = defaultTaskNameLimits) {
    this.#limits = limits;
  }

  /** The id of the task with the caller's name. */
  find(principal: Principal, name: string): string | undefined {
    const key = ownerKey(principal);
    const names = this.#ids.get(key);
    const id = names?.get(name);
    if (names === undefined || id === undefined) return undefined;
    keep(this.#ids, [key, names], this.#limits.principals);
    keep(names, [name, id], this.#limits.namesPerPrincipal);
    return id;
  }

  give(principal: Principal, name: string, id: string): void {
    const key = ownerKey(principal);
    const names = this.#ids.get(key) ?? new Map<string, string>();
    keep(names, [name, id], this.#limits.namesPerPrincipal);
    keep(this.#ids, [key, names], this.#limits.principals);
  }

  /**
   * Announces a new task of this name. If another caller has announced one, it waits and returns, to look again. The
   * returned function ends the announcement, whether or not the task exists.
   */
  async open(principal: Principal, name: string): Promise<() => void> {
    const key = JSON.stringify([ownerKey(principal), name]);
    for (let other = this.#openings.get(key); other !== undefined; other = this.#openings.get(key)) await other;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#openings.set(key, promise);
    return () => {
      if (this.#openings.get(key) === promise) this.#openings.delete(key);
      resolve();
    };
  }
}

// A map keeps insertion order: its first key is the least recently used.
function keep<V>(map: Map<string, V>, [key, value]: readonly [string, V], most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
