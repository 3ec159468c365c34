import { describe, expect, it } from "vitest";
import { defaultCoreLimits } from "../../src/core/limits.js";
import { createReadGate, ReadMemory } from "../../src/core/read-gate.js";
import type { Scope } from "../../src/protocol/context.js";
import { completed } from "../../src/protocol/events.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { alice, bob } from "../../src/testing/contract/fixtures.js";
import { temporaryFolder } from "../store/sql/temporary-folder.js";
import { contextOf, startHandler } from "../support/handler.js";
import { requestOf, taskOf } from "../support/say.js";
import { createVirtualClock, settle } from "../support/virtual-clock.js";

describe("the reads of one owner", () => {
  it("so many reads of one owner run at once, in their order, and failed ones make room too", async () => {
    const gate = createReadGate(2, { clock: createVirtualClock(), limits: defaultCoreLimits });
    const started: number[] = [];
    const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
    const reads = ends.map(({ promise }, index) =>
      gate(alice, () => {
        started.push(index);
        return promise;
      }),
    );
    await settle();
    expect(started).toEqual([0, 1]);
    ends[1]?.reject(new Error("no store"));
    await expect(reads[1]).rejects.toThrow("no store");
    expect(started).toEqual([0, 1, 2]);
    ends[0]?.resolve();
    await settle();
    expect(started).toEqual([0, 1, 2, 3]);
    for (const end of ends) end.resolve();
    await Promise.all([reads[0], reads[2], reads[3]]);
  });

  it("reads of one owner take their share of the memory at once, as soon as the size of one is known", async () => {
    const clock = createVirtualClock();
    const memory = new ReadMemory(clock, { runningMaxBytes: 1000, storeRetryMs: 30_000 });
    const gate = createReadGate(Number.POSITIVE_INFINITY, { clock, limits: defaultCoreLimits }, memory);
    const ends: PromiseWithResolvers<number>[] = [];
    const read = (owner: Scope): Promise<number> =>
      gate(
        owner,
        () => {
          const end = Promise.withResolvers<number>();
          ends.push(end);
          return end.promise;
        },
        (bytes) => bytes,
      );
    const reads = Array.from({ length: 20 }, () => read(alice));
    await settle();
    expect(ends).toHaveLength(4);
    ends[0]?.resolve(200);
    await settle();
    // Those that run take more than its half.
    expect(ends).toHaveLength(4);
    for (let index = 1; index < 20; index++) {
      ends[index]?.resolve(200);
      await settle();
      // Two of 200 fit into it.
      expect(ends).toHaveLength(Math.min(20, Math.max(4, index + 3)));
    }
    await Promise.all(reads);
    // What is small is not bounded.
    const small = Array.from({ length: 20 }, () => read(bob));
    for (let index = 0; index < 20; index++) {
      await settle();
      ends[20 + index]?.resolve(1);
    }
    await Promise.all(small);
    expect(clock.pending()).toEqual([]);
  });

  it("a read that waits for one that never ends waits no longer than a store may be silent", async () => {
    const clock = createVirtualClock();
    const memory = new ReadMemory(clock, { runningMaxBytes: 1000, storeRetryMs: 30_000 });
    const gate = createReadGate(1, { clock, limits: defaultCoreLimits }, memory);
    void gate(alice, () => new Promise(() => {}));
    const second = gate(alice, async () => "read");
    await clock.advance(30_000);
    expect(await second).toBe("read");
  });

  it("a read among a thousand lists of another owner is answered after a few of them", async () => {
    const store = sqliteStore({ path: `${await temporaryFolder()}/tasks.db` });
    await store.open?.();
    await using served = startHandler({ agent: async () => completed("x".repeat(100_000)), store });
    for (let index = 0; index < 20; index++) await served.send("go", {}, { principal: alice });
    const { id } = taskOf(await served.send("go", {}, { principal: bob }));
    let listCount = 0;
    const lists = Array.from({ length: 300 }, async () => {
      await served.operations.listTasks(requestOf("listTasks", { includeArtifacts: true }), contextOf());
      listCount += 1;
    });
    await served.get(id, { principal: bob });
    expect(listCount).toBeLessThan(30);
    await Promise.all(lists);
    await store.close();
  });
});
