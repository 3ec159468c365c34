import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairQueue, type QueuedItem } from "../../src/protocol/fair-queue.js";
import { exceedsShare } from "../../src/protocol/fair-share.js";

describe("a fair queue", () => {
  it("a fair queue gives keys their turns, however many items one of them has", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2", "a3"]) queue.add("a", item);
    queue.add("b", "b1");
    queue.add("c", "c1");
    queue.add("b", "b2");
    expect(takeAll(queue)).toEqual(["a1", "b1", "c1", "a2", "b2", "a3"]);
  });

  it("a fair queue passes over a key whose first item may not go, which keeps its turn", () => {
    const queue = new FairQueue<string>();
    for (const item of ["a1", "a2"]) queue.add("a", item);
    for (const item of ["b1", "b2"]) queue.add("b", item);
    expect(queue.take((item) => item !== "a1")).toBe("b1");
    expect(queue.nextKey).toBe("a");
    expect(queue.take(() => false)).toBeUndefined();
    expect(takeAll(queue)).toEqual(["a1", "b2", "a2"]);
  });

  it("a fair queue refuses an item over the limit of its key, and over half of the bytes that others leave", () => {
    const queue = new FairQueue<string>(() => ({ perKey: 3, maxBytes: 100 }));
    expect(queue.add("a", "large", 90)).toBeDefined();
    expect(queue.add("a", "second", 1)).toBeUndefined();
    expect(queue.add("b", "b1", 5)).toBeDefined();
    expect(queue.add("b", "b2", 1)).toBeUndefined();
    expect([queue.add("c", "1"), queue.add("c", "2"), queue.add("c", "3")]).not.toContain(undefined);
    expect(queue.add("c", "4")).toBeUndefined();
    expect(queue.size).toBe(5);
  });

  it("a fair queue has the bytes of a canceled item free again, and lets it be canceled twice", () => {
    const queue = new FairQueue<string>(() => ({ perKey: 1, maxBytes: 10 }));
    const queued = queue.add("a", "a1", 10);
    expect(queue.add("a", "a2", 10)).toBeUndefined();
    if (queued !== undefined) for (let times = 0; times < 2; times++) queue.cancel(queued);
    expect([queue.size, queue.count("a"), queue.nextKey]).toEqual([0, 0, undefined]);
    expect(queue.add("a", "a2", 10)).toBeDefined();
  });
});

function takeAll<T>(queue: FairQueue<T>): readonly T[] {
  const taken: T[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken;
}

/** An item as the model knows it. */
interface Item {
  readonly id: number;
  readonly bytes: number;
}

/** The plainest fair queue: a list of lists, in the order of turns. */
class Model {
  lanes: { readonly key: string; readonly items: Item[] }[] = [];

  get size(): number {
    return this.lanes.reduce((sum, { items }) => sum + items.length, 0);
  }

  count(key: string): number {
    return this.#lane(key)?.items.length ?? 0;
  }

  add(key: string, item: Item): boolean {
    const lane = this.#lane(key);
    const own = bytesOf(lane?.items ?? []);
    const all = bytesOf(this.lanes.flatMap(({ items }) => items));
    if (this.count(key) >= limits.perKey) return false;
    if (own > 0 && exceedsShare(own + item.bytes, all + item.bytes, limits.maxBytes)) return false;
    if (lane === undefined) this.lanes.push({ key, items: [item] });
    else lane.items.push(item);
    return true;
  }

  take(mayGo: (item: Item) => boolean): Item | undefined {
    const lane = this.lanes.find(({ items: [first] }) => first !== undefined && mayGo(first));
    if (lane === undefined) return undefined;
    this.endTurn(lane.key);
    return this.takeFrom(lane.key);
  }

  takeFrom(key: string): Item | undefined {
    const item = this.#lane(key)?.items.shift();
    this.#tidy();
    return item;
  }

  endTurn(key: string): void {
    const lane = this.#lane(key);
    if (lane !== undefined) this.lanes = [...this.lanes.filter((each) => each !== lane), lane];
  }

  cancel(id: number): void {
    for (const { items } of this.lanes) {
      const index = items.findIndex((item) => item.id === id);
      if (index >= 0) items.splice(index, 1);
    }
    this.#tidy();
  }

  #lane(key: string) {
    return this.lanes.find((lane) => lane.key === key);
  }

  #tidy(): void {
    this.lanes = this.lanes.filter(({ items }) => items.length > 0);
  }
}

const limits = { perKey: 4, maxBytes: 40 };
const bytesOf = (items: readonly Item[]): number => items.reduce((sum, { bytes }) => sum + bytes, 0);

const key = fc.constantFrom("a", "b", "c", "d");
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("add" as const), key, bytes: fc.nat(12) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("take" as const), odd: fc.constantFrom(0, 1, 2) }) },
  fc.record({ kind: fc.constant("takeFrom" as const), key }),
  fc.record({ kind: fc.constant("endTurn" as const), key }),
  fc.record({ kind: fc.constant("cancel" as const), of: fc.nat(30) }),
);

/** One step of a queue and its model, which must answer alike. */
function run(queue: FairQueue<Item>, model: Model, { step: next, id, queued }: Step): void {
  if (next.kind === "add") {
    const item = { id, bytes: next.bytes };
    const added = queue.add(next.key, item, next.bytes);
    queued.push(added);
    expect(added !== undefined).toBe(model.add(next.key, item));
  } else if (next.kind === "take") {
    // 2: every item may go.
    const mayGo = (item: Item): boolean => next.odd === 2 || item.id % 2 === next.odd;
    expect(queue.take(mayGo)).toEqual(model.take(mayGo));
  } else if (next.kind === "takeFrom") expect(queue.takeFrom(next.key)).toEqual(model.takeFrom(next.key));
  else if (next.kind === "endTurn") {
    queue.endTurn(next.key);
    model.endTurn(next.key);
  } else {
    const added = queued[next.of];
    if (added === undefined) return;
    queue.cancel(added);
    model.cancel(added.item.id);
  }
}

interface Step {
  readonly step: typeof step extends fc.Arbitrary<infer S> ? S : never;
  readonly id: number;
  readonly queued: (QueuedItem<Item> | undefined)[];
}

it("a fair queue does what its model does, whatever is added, taken and canceled", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new FairQueue<Item>(() => limits);
      const model = new Model();
      const queued: Step["queued"] = [];
      for (const [id, each] of steps.entries()) {
        run(queue, model, { step: each, id, queued });
        expect(queue.size).toBe(model.size);
        expect(queue.firstItems()).toEqual(model.lanes.map(({ items }) => items[0]));
        expect(queue.nextKey).toBe(model.lanes[0]?.key);
        for (const name of ["a", "b", "c", "d"]) expect(queue.count(name)).toBe(model.count(name));
      }
    }),
    { numRuns: 1000 },
  );
});

it("no key of a fair queue waits for more turns than there are other keys", () => {
  const counts = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(counts, (sizes) => {
      const queue = new FairQueue<number>();
      for (const [name, count] of sizes.entries()) {
        for (let item = 0; item < count; item++) queue.add(`${name}`, name);
      }
      const order = takeAll(queue);
      for (const name of sizes.keys()) {
        const turns = order.flatMap((each, index) => (each === name ? index : []));
        const gaps = turns.map((turn, index) => turn - (turns[index - 1] ?? -1));
        expect(Math.max(...gaps)).toBeLessThanOrEqual(sizes.length);
      }
    }),
  );
});

it("an item of a fair queue that was taken or canceled keeps no later one alive", () => {
  const queue = new FairQueue<string>();
  const first = queue.add("a", "first");
  const second = queue.add("a", "second");
  const third = queue.add("a", "third");
  if (first === undefined || second === undefined || third === undefined) throw new Error("the queue has no limits");
  queue.cancel(second);
  expect(queue.takeFrom("a")).toBe("first");
  for (const { link } of [first, second]) expect([link.older, link.newer]).toEqual([undefined, undefined]);
  expect(third.isWaiting).toBe(true);
});
