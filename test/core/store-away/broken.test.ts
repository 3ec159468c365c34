import { expect, it } from "vitest";
import type { TaskStore } from "../../../src/core/ports.js";
import { working } from "../../../src/protocol/events.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { StoreError, type StoreFailure } from "../../../src/store/sql/store-error.js";
import { around } from "../../support/fault-store.js";
import { startHandler } from "../../support/handler.js";
import { errorOf, stateOf, taskOf } from "../../support/say.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

// A database that fails calls, in all of it or in parts that probes do not touch.

/** A handler on a store that fails some of its calls, and what its process says of the store. */
function startBroken(failureOf: (method: string) => StoreFailure | undefined) {
  const clock = createVirtualClock();
  const store: TaskStore = around(memoryTaskStore({ clock }), async ({ method }, go) => {
    const failure = failureOf(method);
    if (failure !== undefined) throw new StoreError(failure, `the database failed: ${failure}`);
    return go();
  });
  const served = startHandler({ clock, store, agent: async () => working("done") });
  const readiness: boolean[] = [];
  served.health.watch((ready) => readiness.push(ready));
  const said = () =>
    served.log.filter(({ level }) => level !== "debug").map(({ level, message }) => `${level} ${message}`);
  return {
    ...{ ...served, readiness, said },
    /** Calls each second. A call may wait for 2 s (`storeWaitMs`). */
    async callFor(seconds: number, call: () => Promise<unknown>): Promise<void> {
      const answers: Promise<unknown>[] = [];
      for (let count = 0; count < seconds; count += 1) {
        answers.push(call().catch(() => undefined));
        await clock.advance(1000);
      }
      await clock.advance(3000);
      await Promise.all(answers);
    },
  };
}

const failures = ["damaged", "unusable", "readOnly"] as const;
const record = "error the task store fails calls, although it takes small writes";

it.each(failures)(
  "a process is not ready once sends have failed for 10 s where probes do not reach, and says so once (%s)",
  async (failure) => {
    let broken = false;
    await using served = startBroken((method) => (broken && method === "create" ? failure : undefined));
    await served.send("before");
    broken = true;
    await served.callFor(9, () => served.send("go"));
    expect(served.readiness).toEqual([]);
    await served.callFor(4, () => served.send("go"));
    expect(served.readiness).toEqual([false]);
    // A process that is not ready gets no calls, and no probe finds the damage.
    await served.clock.advance(300_000);
    expect(served.readiness).toEqual([false]);
    expect(served.said()).toEqual([record]);
    broken = false;
    await served.clock.advance(300_000);
    expect(served.readiness).toEqual([false, true]);
    expect(stateOf(taskOf(await served.send("after")))).toBe("COMPLETED");
    expect(served.said()).toEqual([record, "info the task store is back"]);
  },
);

it.each(failures)("a process is not ready once reads have failed for 10 s, and says so once (%s)", async (failure) => {
  let broken = false;
  await using served = startBroken((method) => (broken && method === "read" ? failure : undefined));
  const { id } = taskOf(await served.send("before"));
  broken = true;
  await served.callFor(13, () => served.get(id));
  expect(served.readiness).toEqual([false]);
  expect(served.said()).toEqual([record]);
});

it("a process stays ready after a call of the store that failed once", async () => {
  let broken = false;
  await using served = startBroken((method) => (broken && method === "create" ? "unusable" : undefined));
  broken = true;
  const error = errorOf(served.send("go"));
  await served.clock.advance(2000);
  expect(await error).toMatchObject({ code: "unavailable" });
  broken = false;
  await served.callFor(60, () => served.send("go"));
  expect(served.readiness).toEqual([]);
  expect(served.said()).toEqual([record]);
});

it.each(failures)(
  "a store is away like any other where all writes fail, and back with the first that succeeds (%s)",
  async (failure) => {
    let broken = false;
    await using served = startBroken((method) => (broken && method !== "read" ? failure : undefined));
    const { id } = taskOf(await served.send("before"));
    broken = true;
    await served.callFor(13, () => served.send("go"));
    expect(served.readiness).toEqual([false]);
    expect(stateOf(await served.get(id))).toBe("COMPLETED");
    broken = false;
    await served.clock.advance(2000);
    expect(served.readiness).toEqual([false, true]);
    expect(served.said()).toEqual(["error the task store is away", "info the task store is back"]);
  },
);

it.each(["locked", "outOfMemory", "unreachable", "other"] as const)(
  "a process stays ready when only one kind of call fails in the store (%s)",
  async (failure) => {
    let broken = false;
    await using served = startBroken((method) => (broken && method === "read" ? failure : undefined));
    const { id } = taskOf(await served.send("before"));
    broken = true;
    await served.callFor(13, () => served.get(id));
    expect(served.readiness).toEqual([]);
    expect(served.said().filter((line) => line.includes("store is") || line === record)).toEqual([]);
  },
);

it("a process whose database has left its place is not ready at once, for good, and refuses sends", async () => {
  let moved = false;
  await using served = startBroken((method) => (moved && method !== "read" ? "moved" : undefined));
  const { id } = taskOf(await served.send("before"));
  moved = true;
  await served.clock.advance(4000);
  expect(served.readiness).toEqual([false]);
  moved = false;
  await served.clock.advance(60_000);
  expect(await errorOf(served.send("go"))).toMatchObject({ code: "unavailable", retryAfterMs: 1000 });
  expect(stateOf(await served.get(id))).toBe("COMPLETED");
  expect(served.readiness).toEqual([false]);
  expect(served.said()).toEqual(["error the task store cannot be used any more: it needs a restart of this process"]);
});
