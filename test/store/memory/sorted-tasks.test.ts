import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SortedTasks } from "../../../src/store/memory/sorted-tasks.js";

interface Item {
  readonly statusTime: number;
  readonly key: number;
}

const newestFirst = (a: Item, b: Item) => b.statusTime - a.statusTime || b.key - a.key;

describe("sorted tasks", () => {
  it("sorted tasks give the same as a newly sorted list, whatever is added and deleted", () => {
    // Adds and deletes come in bursts, so that blocks fill, split, empty and merge.
    const burst = fc.record({
      add: fc.boolean(),
      count: fc.integer({ min: 1, max: 1_500 }),
      seed: fc.integer({ min: 1, max: 10_007 }),
      spread: fc.constantFrom(1, 5, 100_000),
    });
    const context = fc.record({ statusTime: fc.integer({ min: -1, max: 100_001 }), key: fc.nat({ max: 9_000 }) });
    const history = fc.array(burst, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(history, context, fc.nat({ max: 300 }), (bursts, after, limit) => {
        const sorted = new SortedTasks<Item>();
        let items: Item[] = [];
        let key = 0;
        for (const { add, count, seed, spread } of bursts) {
          if (add) {
            const added = Array.from({ length: count }, (_, index) => ({
              key: ++key,
              statusTime: (index * seed) % spread,
            }));
            for (const item of added) sorted.add(item);
            items.push(...added);
          } else {
            const deleted = new Set(items.filter((_, index) => (index * seed) % 1_000 < count));
            for (const item of deleted) sorted.delete(item);
            items = items.filter((item) => !deleted.has(item));
          }
        }
        const expected = items.toSorted(newestFirst);
        expect(sorted.size).toBe(items.length);
        expect([...sorted]).toEqual(expected.toReversed());
        const behind = expected.filter((item) => newestFirst(after, item) < 0);
        expect(sorted.page({ limit, after })).toEqual(behind.slice(0, limit));
        const recent = expected.filter(({ statusTime }) => statusTime >= after.statusTime);
        expect(sorted.page({ limit, since: after.statusTime })).toEqual(recent.slice(0, limit));
        expect(sorted.countSince(after.statusTime)).toBe(recent.length);
      }),
      { numRuns: 60 },
    );
  });

  it("sorted tasks ignore the deletion of a missing entry", () => {
    const sorted = new SortedTasks<Item>();
    const item = { statusTime: 1, key: 1 };
    sorted.delete(item);
    sorted.add(item);
    sorted.delete({ statusTime: 1, key: 2 });
    sorted.delete({ ...item });
    expect([...sorted]).toEqual([item]);
  });
});
