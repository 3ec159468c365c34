/** The sort key of a task: its status time, then its key. */
export interface Position {
  readonly statusTime: number;
  readonly key: number;
}

/** The part of the order that a page covers. */
export interface Span {
  readonly limit: number;
  /** Starts after this position, towards older tasks. */
  readonly after?: Position | undefined;
  /** Ends at this status time, inclusive. */
  readonly since?: number | undefined;
}

const blockMax = 512;

/**
 * Tasks sorted by status time, in blocks of at most 512, so that insertion and deletion move few of them. The common
 * change, at the newest end, is a push. An item's sort key must not change while it is stored here.
 */
export class SortedTasks<T extends Position> {
  #blocks: T[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    this.#size += 1;
    const index = this.#findBlock(item);
    const block = this.#blocks[index];
    if (block !== undefined) this.#insert(index, block, item);
    else this.#append(item);
  }

  delete(item: T): void {
    const index = this.#findBlock(item);
    const block = this.#blocks[index];
    if (block === undefined) return;
    const at = lowerBound(block, item);
    if (block[at] !== item) return;
    this.#size -= 1;
    // Dropping removes the oldest task; `shift` does that without moving the others.
    if (at === 0) block.shift();
    else block.splice(at, 1);
    this.#join(index, block);
  }

  /** Number of tasks with this status time or a later one. */
  countSince(time: number): number {
    const from = { statusTime: time, key: Number.NEGATIVE_INFINITY };
    const index = this.#findBlock(from);
    const first = this.#blocks[index];
    if (first === undefined) return 0;
    let count = first.length - lowerBound(first, from);
    for (let next = index + 1; next < this.#blocks.length; next += 1) count += this.#blocks[next]?.length ?? 0;
    return count;
  }

  /** Newest first. */
  page({ limit, after, since = Number.NEGATIVE_INFINITY }: Span): T[] {
    const page: T[] = [];
    let index = after === undefined ? this.#blocks.length : this.#findBlock(after);
    let block = this.#blocks[index] ?? [];
    let at = after === undefined ? 0 : lowerBound(block, after);
    while (page.length < limit) {
      if (at === 0) {
        index -= 1;
        const older = this.#blocks[index];
        if (older === undefined) break;
        block = older;
        at = block.length;
      }
      at -= 1;
      const item = block[at];
      if (item === undefined || item.statusTime < since) break;
      page.push(item);
    }
    return page;
  }

  /** Oldest first. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (const block of this.#blocks) yield* block;
  }

  /** Index of the first block that reaches a position; the number of blocks if none does. */
  #findBlock(position: Position): number {
    const blocks = this.#blocks;
    let low = 0;
    let high = blocks.length;
    // Most positions are new or among the newest.
    if (isBehind(blocks.at(-1), position)) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isBehind(blocks[middle], position)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #append(item: T): void {
    const last = this.#blocks.at(-1);
    if (last === undefined) this.#blocks = [[item]];
    else if (last.length < blockMax) last.push(item);
    else this.#blocks.push([item]);
  }

  #insert(index: number, block: T[], item: T): void {
    block.splice(lowerBound(block, item), 0, item);
    if (block.length > blockMax) this.#blocks.splice(index + 1, 0, block.splice(block.length >>> 1));
  }

  /** Removes empty blocks and merges small ones. */
  #join(index: number, block: readonly T[]): void {
    if (block.length > blockMax / 4) return;
    const older = this.#blocks[index - 1];
    if (older !== undefined && older.length + block.length <= blockMax / 2) older.push(...block);
    else if (block.length > 0) return;
    this.#blocks.splice(index, 1);
  }
}

/** Whether a whole block comes before a position. */
function isBehind(block: readonly Position[] | undefined, position: Position): boolean {
  const last = block?.at(-1);
  return last !== undefined && isBefore(last, position);
}

function isBefore(a: Position, b: Position): boolean {
  return a.statusTime < b.statusTime || (a.statusTime === b.statusTime && a.key < b.key);
}

/** Index of the first item that is not before a position. */
function lowerBound(block: readonly Position[], position: Position): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = block[middle];
    if (item !== undefined && isBefore(item, position)) low = middle + 1;
    else high = middle;
  }
  return low;
}
