import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { endOfTurn } from "../../src/binding/service.js";
import { createWorkQueue, type WorkQueueOptions } from "../../src/server/work-queue.js";

/** A clock that work moves, and timers that a test fires. */
function createWorkClock() {
  let now = 0;
  const timers: { readonly ms: number; readonly run: () => void }[] = [];
  return {
    now: () => now,
    after(ms: number, run: () => void) {
      timers.push({ ms, run });
      return () => {};
    },
    work(ms: number) {
      now += ms;
    },
    timers,
  };
}

function setUp({ isShared = () => false }: Partial<WorkQueueOptions> = {}) {
  const clock = createWorkClock();
  const queue = createWorkQueue({ clock, isShared });
  const order: string[] = [];
  /** Work of so many steps that take two milliseconds each. */
  function* steps(name: string, count: number): Generator<undefined, string> {
    for (let step = 1; step <= count; step++) {
      order.push(`${name}${step}`);
      clock.work(2);
      if (step < count) yield;
    }
    return name;
  }
  return { clock, queue, order, steps };
}

describe("large work", () => {
  it("large work is done in turns between callers, however much one of them has", async () => {
    const { queue, order, steps } = setUp();
    const done = ["p", "q", "r"].map((name) => queue.run("hog", steps(name, 2)));
    done.push(queue.run("honest", steps("x", 2)));
    expect(await Promise.all(done)).toEqual(["p", "q", "r", "x"]);
    expect(order).toEqual(["p1", "p2", "x1", "q1", "x2", "q2", "r1", "r2"]);
  });

  it("large work lets the event loop go round after each turn", async () => {
    const { queue, order, steps } = setUp();
    const done = queue.run("hog", steps("p", 3));
    for (let round = 0; round < 3; round++) {
      order.push("other");
      await setImmediate();
    }
    await done;
    expect(order).toEqual(["p1", "other", "p2", "other", "p3", "other"]);
  });

  it("large work goes on within a turn until a millisecond is full", async () => {
    const { clock, queue, order } = setUp();
    const short = (name: string) => ({
      next: () => {
        order.push(name);
        clock.work(0.4);
        return { done: true as const, value: undefined };
      },
    });
    const first = queue.run("a", short("a0"));
    const done = ["a1", "a2", "a3", "a4"].map((name) => queue.run("a", short(name)));
    done.push(queue.run("b", short("b1")));
    await Promise.all([first, ...done]);
    expect(order).toEqual(["a0", "a1", "a2", "a3", "b1", "a4"]);
  });

  it("large work ends a turn early that leads to work elsewhere", async () => {
    const { queue, order } = setUp();
    function* turnOf(name: string): Generator<unknown, void> {
      order.push(`${name} asks`);
      yield endOfTurn;
      order.push(`${name} may`);
    }
    const done = ["p", "q"].map((name) => queue.run("hog", turnOf(name)));
    for (let round = 0; round < 2; round++) {
      await setImmediate();
      order.push("|");
    }
    await Promise.all(done);
    expect(order).toEqual(["p asks", "p may", "q asks", "|", "q may", "|"]);
  });

  it("large work rests for as long as a turn took while other calls are active", async () => {
    const { clock, queue, order, steps } = setUp({ isShared: () => true });
    const done = queue.run("hog", steps("p", 2));
    await setImmediate();
    await setImmediate();
    expect(order).toEqual(["p1"]);
    expect(clock.timers.map(({ ms }) => ms)).toEqual([2]);
    clock.timers[0]?.run();
    await done;
    expect(order).toEqual(["p1", "p2"]);
  });

  it("large work asks whether others are active beside the calls that wait in the queue", async () => {
    const queueLengths: number[] = [];
    const isShared = (waiting: number): boolean => {
      queueLengths.push(waiting);
      return false;
    };
    const { queue, steps } = setUp({ isShared });
    await Promise.all([queue.run("a", steps("p", 2)), queue.run("b", steps("x", 1))]);
    expect(queueLengths).toEqual([2, 1]);
  });

  it("large work that fails rejects, and the next work is done", async () => {
    const { queue, steps } = setUp();
    const broken: Iterator<unknown, never> = {
      next() {
        throw new Error("broken");
      },
    };
    await expect(queue.run("a", broken)).rejects.toThrow("broken");
    await expect(queue.run("a", steps("p", 1))).resolves.toBe("p");
  });
});
