import type { Principal } from "../protocol/context.js";

/** How many names are kept, the latest used ones. */
export interface TaskNameLimits {
  readonly namesPerPrincipal: number;
  readonly principals: number;
}

const defaultTaskNameLimits: TaskNameLimits = { namesPerPrincipal: 10_000, principals: 1_000 };

/**
 * What callers call their tasks, in versions where callers choose that, and the ids that the agent has given them. Kept in
 * memory alone: names are forgotten after a restart and when there are too many.
 */
export class RememberedNames {
  readonly #limits: TaskNameLimits;
  readonly #ids = new Map<string, Map<string, string>>();
  readonly #opening = new Map<string, Promise<void>>();

  constructor(limits: TaskNameLimits = defaultTaskNameLimits) {
    this.#limits = limits;
  }

  /** The id of the task that the caller calls so. */
  find(principal: Principal, name: string): string | undefined {
    const key = keyOf(principal);
    const own = this.#ids.get(key);
    const id = own?.get(name);
    if (own === undefined || id === undefined) return undefined;
    keep(this.#ids, key, own, this.#limits.principals);
    keep(own, name, id, this.#limits.namesPerPrincipal);
    return id;
  }

  give(principal: Principal, name: string, id: string): void {
    const key = keyOf(principal);
    const own = this.#ids.get(key) ?? new Map<string, string>();
    keep(own, name, id, this.#limits.namesPerPrincipal);
    keep(this.#ids, key, own, this.#limits.principals);
  }

  /**
   * Says that a task of this name is about to be made, unless that was said before; the second caller waits and looks
   * again. The returned function ends that, whether or not there is a task now.
   */
  async open(principal: Principal, name: string): Promise<() => void> {
    const key = JSON.stringify([keyOf(principal), name]);
    for (let other = this.#opening.get(key); other !== undefined; other = this.#opening.get(key)) await other;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#opening.set(key, promise);
    return () => {
      if (this.#opening.get(key) === promise) this.#opening.delete(key);
      resolve();
    };
  }
}

function keyOf({ owner, tenant = "" }: Principal): string {
  return JSON.stringify([tenant, owner]);
}

// A map keeps the order of insertion: its first key is the one that was not used longest.
function keep<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
