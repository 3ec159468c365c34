import { describe, expect, it } from "vitest";
import { park } from "../../src/protocol/events.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { around } from "../support/fault-store.js";
import { startHandler } from "../support/handler.js";
import { settle } from "../support/virtual-clock.js";

/** A handler whose agent parks, over a store that counts as the test says. */
function counting(answer: (go: () => Promise<unknown>) => Promise<unknown>) {
  let counts = 0;
  const store = around(memoryTaskStore(), ({ method }, go) => {
    if (method !== "parked") return go();
    counts += 1;
    return answer(go);
  });
  const served = startHandler({
    store,
    async *agent() {
      yield park();
    },
  });
  const parkOne = async (): Promise<void> => {
    await served.send("go", { configuration: { returnImmediately: true } });
    await settle();
  };
  return {
    ...served,
    parkOne,
    parked: () => served.handler.parked?.(),
    get counts() {
      return counts;
    },
  };
}

describe("parked tasks", () => {
  it("the parked tasks are counted once for all who ask within ten seconds", async () => {
    await using served = counting((go) => go());
    await served.parkOne();
    expect(await Promise.all([served.parked(), served.parked()])).toEqual(Array(2).fill({ timed: 0, untimed: 1 }));
    await served.parkOne();
    await served.clock.advance(9_999);
    expect([await served.parked(), served.counts]).toEqual([{ timed: 0, untimed: 1 }, 1]);
    await served.clock.advance(1);
    expect([await served.parked(), served.counts]).toEqual([{ timed: 0, untimed: 2 }, 2]);
  });

  it("counting the parked tasks takes a hundredth of the time at most", async () => {
    await using served = counting(async (go) => {
      await served.clock.advance(1_000);
      return go();
    });
    await served.parked();
    await served.clock.advance(99_999);
    await served.parked();
    expect(served.counts).toBe(1);
    await served.clock.advance(1);
    await served.parked();
    expect(served.counts).toBe(2);
  });

  it("parked tasks are unknown while the store does not answer, and its late answer is the next count", async () => {
    const answer = Promise.withResolvers<void>();
    await using served = counting(async (go) => {
      await answer.promise;
      return go();
    });
    const count = served.parked();
    await served.clock.advance(2_000);
    await settle();
    expect(await count).toBeUndefined();
    answer.resolve();
    await settle();
    expect([await served.parked(), served.counts]).toEqual([{ timed: 0, untimed: 0 }, 1]);
  });
});
