import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../../src/core/ports.js";
import { Tail } from "../../../src/core/task/tail.js";

const records = (from: number, to: number): LogRecord[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ kind: "turnEnded", seq: from + index }));
const numbers = (list: readonly LogRecord[] | undefined): readonly number[] | undefined => list?.map(({ seq }) => seq);

describe("the tail of a live task", () => {
  it("the tail of a live task returns the records after a position, if any", () => {
    const tail = new Tail();
    tail.push(records(1, 3), 1);
    tail.push(records(4, 5), 1);
    expect(numbers(tail.after(0))).toEqual([1, 2, 3, 4, 5]);
    expect(numbers(tail.after(3))).toEqual([4, 5]);
    expect(numbers(tail.after(5))).toEqual([]);
  });

  it("the tail of a live task reports when it does not reach back to a position", () => {
    const tail = new Tail();
    expect(tail.after(0)).toBeUndefined();
    tail.push(records(10, 12), 1);
    expect(tail.after(8)).toBeUndefined();
    expect(numbers(tail.after(9))).toEqual([10, 11, 12]);
  });

  it("the tail of a live task keeps only the latest records, without a gap", () => {
    const tail = new Tail();
    for (let seq = 1; seq <= 10_000; seq++) tail.push(records(seq, seq), 1);
    expect(tail.after(0)).toBeUndefined();
    expect(numbers(tail.after(9998))).toEqual([9999, 10_000]);
    const reach = Array.from({ length: 10_000 }, (_, after) => tail.after(after)).filter((each) => each !== undefined);
    expect(reach.length).toBeGreaterThanOrEqual(512);
    expect(reach.length).toBeLessThanOrEqual(1024);
  });

  it("the tail of a live task keeps about a mebibyte at most", () => {
    const tail = new Tail();
    for (let seq = 1; seq <= 10; seq++) tail.push(records(seq, seq), 300_000);
    expect(tail.after(0)).toBeUndefined();
    expect(numbers(tail.after(9))).toEqual([10]);
  });
});
