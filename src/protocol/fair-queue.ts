import { exceedsShare } from "./fair-share.js";
import { createLink, Recency } from "./recency.js";

// A queue that is fair to its keys, such as owners. The items of a key wait in a lane, in order of arrival. Lanes take
// turns: `take` gives the first item of the next lane that may go, and that lane becomes the last. A lane exists while
// items wait in it, so a key that comes back starts at the end.
//
// Invariant: a lane is in `#lanes` and once in `#turns` if and only if it has items; `size` and `#bytes` are the sums over
// all lanes. Every operation takes constant time, but that `take` passes over the lanes that may not go.
//
// The queue starts nothing and keeps no time: who adds an item decides when it gives up, and cancels it then.

/** How much may wait. Items beyond it are not added. */
export interface FairQueueLimits {
  /** Items of one key. */
  readonly perKey: number;
  /** Bytes of all items. A key may have half of what the others leave; its only item may have any size. */
  readonly maxBytes: number;
}

/** An item in a queue. */
export class QueuedItem<T> {
  readonly item: T;
  readonly bytes: number;
  readonly lane: Lane<T>;
  readonly link = createLink<QueuedItem<T>>(this);
  isWaiting = true;

  constructor(lane: Lane<T>, item: T, bytes: number) {
    this.lane = lane;
    this.item = item;
    this.bytes = bytes;
  }
}

/** The items of one key. */
class Lane<T> {
  readonly key: string;
  readonly items = new Recency<QueuedItem<T>>();
  readonly turn = createLink<Lane<T>>(this);
  count = 0;
  bytes = 0;

  constructor(key: string) {
    this.key = key;
  }
}

const unlimited: FairQueueLimits = { perKey: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY };

/** Items that wait: first in, first out for one key, round robin between keys. */
export class FairQueue<T> {
  readonly #limits: () => FairQueueLimits;
  readonly #lanes = new Map<string, Lane<T>>();
  /** The lane whose turn is next comes first. */
  readonly #turns = new Recency<Lane<T>>();
  #size = 0;
  #bytes = 0;

  /** `limits`: those at the moment. Default: none. */
  constructor(limits: () => FairQueueLimits = () => unlimited) {
    this.#limits = limits;
  }

  /** Number of items. */
  get size(): number {
    return this.#size;
  }

  /** Number of items of a key. */
  count(key: string): number {
    return this.#lanes.get(key)?.count ?? 0;
  }

  /** The key whose turn is next. */
  get nextKey(): string | undefined {
    return this.#turns.oldest?.key;
  }

  /** The first item of a key. */
  first(key: string): T | undefined {
    return this.#lanes.get(key)?.items.oldest?.item;
  }

  /** The first item of each key, in the order of their turns. The queue may change meanwhile. */
  firstItems(): readonly T[] {
    const items: T[] = [];
    for (let lane = this.#turns.oldest; lane !== undefined; lane = lane.turn.newer?.item) {
      const first = lane.items.oldest;
      if (first !== undefined) items.push(first.item);
    }
    return items;
  }

  /** Adds an item, or returns `undefined` if that is over a limit. */
  add(key: string, item: T, bytes = 0): QueuedItem<T> | undefined {
    const known = this.#lanes.get(key);
    if (!this.#fits(known, bytes)) return undefined;
    const lane = known ?? this.#open(key);
    const queued = new QueuedItem(lane, item, bytes);
    lane.items.add(queued.link);
    this.#count(lane, 1, bytes);
    return queued;
  }

  /** Takes the next item, and gives the turn to the key after it. `mayGo`: whether an item that would be next may be taken. */
  take(mayGo?: (item: T) => boolean): T | undefined {
    for (let lane = this.#turns.oldest; lane !== undefined; lane = lane.turn.newer?.item) {
      const first = lane.items.oldest;
      if (first === undefined || (mayGo !== undefined && !mayGo(first.item))) continue;
      this.endTurn(lane.key);
      this.#remove(first);
      return first.item;
    }
    return undefined;
  }

  /** Takes the first item of a key, out of turn. */
  takeFrom(key: string): T | undefined {
    const first = this.#lanes.get(key)?.items.oldest;
    if (first !== undefined) this.#remove(first);
    return first?.item;
  }

  /** Makes a key the last one. */
  endTurn(key: string): void {
    const lane = this.#lanes.get(key);
    if (lane === undefined) return;
    this.#turns.delete(lane.turn);
    this.#turns.add(lane.turn);
  }

  /** Removes an item that still waits. Does nothing for one that was taken. */
  cancel(queued: QueuedItem<T>): void {
    if (queued.isWaiting) this.#remove(queued);
  }

  #fits(lane: Lane<T> | undefined, bytes: number): boolean {
    const { perKey, maxBytes } = this.#limits();
    const { count, bytes: own } = lane ?? { count: 0, bytes: 0 };
    return count < perKey && (own === 0 || !exceedsShare(own + bytes, this.#bytes + bytes, maxBytes));
  }

  #open(key: string): Lane<T> {
    const lane = new Lane<T>(key);
    this.#lanes.set(key, lane);
    this.#turns.add(lane.turn);
    return lane;
  }

  #remove(queued: QueuedItem<T>): void {
    const { lane, link, bytes } = queued;
    queued.isWaiting = false;
    lane.items.delete(link);
    this.#count(lane, -1, -bytes);
    if (lane.count > 0) return;
    this.#lanes.delete(lane.key);
    this.#turns.delete(lane.turn);
  }

  #count(lane: Lane<T>, items: 1 | -1, bytes: number): void {
    lane.count += items;
    lane.bytes += bytes;
    this.#size += items;
    this.#bytes += bytes;
  }
}
