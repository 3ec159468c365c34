import type { Scope } from "../protocol/context.js";
import type { A2AError } from "../protocol/errors.js";
import { ownerKey } from "../protocol/fair-share.js";

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
export interface WeighedTurn {
  readonly start: { readonly scope: Scope };
  /** Size of its task. */
  readonly bytes: number;
}

/** What a turn counts besides the bytes of its task. */
const turnBytes = 64 << 10;

/** An owner with this much or less is never refused for its share: four small turns have less. */
const leastShare = 5 * turnBytes;

/** What an owner's running turns take. */
interface Share {
  readonly turns: number;
  readonly bytes: number;
}

const noShare: Share = { turns: 0, bytes: 0 };

/** The shares of owners in the running turns of a process, over all its agents. */
export class TurnShares {
  readonly #load: ProcessLoad | undefined;
  readonly #turns: Iterable<WeighedTurn>;
  /** The overload for which shares were summed. */
  #overload: Overload | undefined;
  /** Kept only during an overload. */
  #owners: Map<string, Share> | undefined;
  #all = noShare;

  /** `turns`: those of the process that run at the moment. */
  constructor(load: ProcessLoad | undefined, turns: Iterable<WeighedTurn>) {
    this.#load = load;
    this.#turns = turns;
  }

  /** Counts a turn that begins, which is among the running ones from now on. */
  enter({ start }: WeighedTurn): void {
    if (this.#owners !== undefined) this.#count(this.#owners, start.scope, { turns: 1, bytes: 0 });
  }

  /** Counts the end of a turn. */
  leave({ start }: WeighedTurn): void {
    if (this.#owners !== undefined) this.#count(this.#owners, start.scope, { turns: -1, bytes: 0 });
  }

  /** Throws for a send that the load refuses: every one, or that of an owner with more than its share. */
  check(scope: Scope): void {
    const overload = this.#load?.overload();
    if (overload === undefined) this.#owners = undefined;
    else if (overload.refuses === "all" || this.#exceeds(overload, ownerKey(scope))) throw overload.refuse();
  }

  // A share is an equal one, for as many owners as have turns and one more.
  #exceeds(overload: Overload, owner: string): boolean {
    const owners = this.#sharesFor(overload);
    const { turns, bytes } = owners.get(owner) ?? noShare;
    const own = bytes + turns * turnBytes;
    return own > leastShare && own > (this.#all.bytes + this.#all.turns * turnBytes) / (owners.size + 1);
  }

  // Sizes are summed once for each measurement, so that a flood of refused sends costs little.
  #sharesFor(overload: Overload): ReadonlyMap<string, Share> {
    if (this.#owners !== undefined && this.#overload === overload) return this.#owners;
    const owners = new Map<string, Share>();
    this.#all = noShare;
    for (const { start, bytes } of this.#turns) this.#count(owners, start.scope, { turns: 1, bytes });
    this.#overload = overload;
    this.#owners = owners;
    return owners;
  }

  // An owner without turns has no share.
  #count(owners: Map<string, Share>, scope: Scope, more: Share): void {
    const key = ownerKey(scope);
    const share = sumOf(owners.get(key) ?? noShare, more);
    if (share.turns === 0) owners.delete(key);
    else owners.set(key, share);
    this.#all = sumOf(this.#all, more);
  }
}

function sumOf(a: Share, b: Share): Share {
  return { turns: a.turns + b.turns, bytes: a.bytes + b.bytes };
}
