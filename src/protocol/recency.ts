/** A place in a list by recency. */
export interface Link<T> {
  readonly item: T;
  older: Link<T> | undefined;
  newer: Link<T> | undefined;
}

/** Items by recency. Every operation takes constant time, unlike deletion at the start of a `Map`. */
export class Recency<T> {
  #oldest: Link<T> | undefined;
  #newest: Link<T> | undefined;

  get oldest(): T | undefined {
    return this.#oldest?.item;
  }

  /** Whether there is one item at most. */
  get isSingle(): boolean {
    return this.#oldest === this.#newest;
  }

  /** Makes the item of a link, which is not in the list, the newest one. */
  add(link: Link<T>): void {
    link.older = this.#newest;
    link.newer = undefined;
    if (this.#newest === undefined) this.#oldest = link;
    else this.#newest.newer = link;
    this.#newest = link;
  }

  /** Takes a link out. It keeps no other alive then, however long its owner keeps it. */
  delete(link: Link<T>): void {
    const { older, newer } = link;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    link.older = undefined;
    link.newer = undefined;
  }

  clear(): void {
    this.#oldest = undefined;
    this.#newest = undefined;
  }
}

/** A link that is in no list yet. */
export function createLink<T>(item: T): Link<T> {
  return { item, older: undefined, newer: undefined };
}
