import { setImmediate as nextRound } from "node:timers/promises";
import { expect, it } from "vitest";
import { createTurnYields } from "../../src/core/turn-yields.js";
import { createVirtualClock } from "../support/virtual-clock.js";

const scopeOf = (owner: string) => ({ agent: "", tenant: "", owner });

function setUp() {
  let now = 0;
  const yields = createTurnYields({ ...createVirtualClock(), now: () => now });
  const order: string[] = [];
  /** A turn that works for two milliseconds each time it may go on. */
  const turn = async (name: string, owner: string, times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      await new Promise<void>((resolve) => yields.take(scopeOf(owner), resolve));
      order.push(name);
      now += 2;
    }
  };
  return { order, turn };
}

it("turns that never wait go on in turns between owners", async () => {
  const { order, turn } = setUp();
  const many = ["a", "b", "c", "d"].map((name) => turn(name, "many", 1));
  await Promise.all([...many, turn("x", "one", 1)]);
  expect(order).toEqual(["a", "x", "b", "c", "d"]);
});

it("the event loop goes round after some milliseconds, however many turns never wait", async () => {
  const { order, turn } = setUp();
  const done = Promise.all(Array.from({ length: 7 }, () => turn(".", "many", 1)));
  while (order.length < 7) {
    await nextRound();
    order.push("|");
    if (order.length > 20) break;
  }
  await done;
  const bursts = order.join("").split("|");
  expect(Math.max(...bursts.map(({ length }) => length))).toBe(3);
});

it("no turn waits longer than others of its owner", async () => {
  const { order, turn } = setUp();
  await Promise.all(["a", "b", "c"].map((name) => turn(name, "owner", 3)));
  expect(order.join("")).toBe("abcabcabc");
});
