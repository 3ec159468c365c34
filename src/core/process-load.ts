import type { Scope } from "../protocol/context.js";
import type { A2AError } from "../protocol/errors.js";

/** How loaded the process is, as its host measures it. */
export interface ProcessLoad {
  /** Which sends are refused now; `undefined` while there is room for all. Every send asks. */
  overload(): Overload | undefined;
}

/** An overload, as measured once. The next measurement makes a new object. */
export interface Overload {
  /** `"all"` sends, or those of owners who hold more than their share. */
  readonly refuses: "excess" | "all";
  /** Counts a refused send and returns its error. */
  refuse(): A2AError;
}

/** A running turn, as its share is counted. */
interface WeighedTurn {
  readonly start: { readonly scope: Scope };
  /** Size of its task. */
  readonly bytes: number;
}

/** What a turn counts besides the bytes of its task. */
const turnBytes = 64 << 10;

/** An owner with this much or less is never refused for its share: four small turns have less. */
const leastShare = 5 * turnBytes;

/** The owner of a scope, over all agents. */
export const ownerKey = ({ tenant, owner }: Scope): string => `${tenant}\n${owner}`;

/** The shares of owners in the running turns of a process, over all its agents. */
export class TurnShares {
  readonly #load: ProcessLoad | undefined;
  readonly #running = new Set<WeighedTurn>();
  /** The number of turns of each owner that has some. */
  readonly #owners = new Map<string, number>();
  /** The overload for which sizes were summed. */
  #measured: Overload | undefined;
  #sizes: ReadonlyMap<string, number> = new Map();
  #size = 0;

  constructor(load: ProcessLoad | undefined) {
    this.#load = load;
  }

  enter(turn: WeighedTurn): void {
    this.#running.add(turn);
    this.#count(turn, 1);
  }

  leave(turn: WeighedTurn): void {
    if (this.#running.delete(turn)) this.#count(turn, -1);
  }

  /** Throws for a send that the load refuses: every one, or that of an owner with more than its share. */
  check(scope: Scope): void {
    const overload = this.#load?.overload();
    if (overload === undefined) return;
    if (overload.refuses === "all" || this.#exceeds(overload, ownerKey(scope))) throw overload.refuse();
  }

  // A share is an equal one, for as many owners as have turns and one more.
  #exceeds(overload: Overload, owner: string): boolean {
    // Summed once for each measurement, so that a flood of refused sends costs little.
    if (overload !== this.#measured) this.#sum();
    this.#measured = overload;
    const own = (this.#sizes.get(owner) ?? 0) + (this.#owners.get(owner) ?? 0) * turnBytes;
    const all = this.#size + this.#running.size * turnBytes;
    return own > leastShare && own > all / (this.#owners.size + 1);
  }

  #sum(): void {
    const sizes = new Map<string, number>();
    this.#size = 0;
    for (const { start, bytes } of this.#running) {
      const key = ownerKey(start.scope);
      sizes.set(key, (sizes.get(key) ?? 0) + bytes);
      this.#size += bytes;
    }
    this.#sizes = sizes;
  }

  #count({ start }: WeighedTurn, change: 1 | -1): void {
    const key = ownerKey(start.scope);
    const turns = (this.#owners.get(key) ?? 0) + change;
    if (turns === 0) this.#owners.delete(key);
    else this.#owners.set(key, turns);
  }
}
