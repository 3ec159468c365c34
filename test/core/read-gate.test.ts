import { describe, expect, it } from "vitest";
import { defaultCoreLimits } from "../../src/core/limits.js";
import { createReadGate } from "../../src/core/read/read-gate.js";
import { completed } from "../../src/protocol/events.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { alice, bob } from "../../src/testing/contract/fixtures.js";
import { temporaryFolder } from "../store/sql/temporary-folder.js";
import { contextOf, startHandler } from "../support/handler.js";
import { requestOf, taskOf } from "../support/say.js";
import { createVirtualClock, settle } from "../support/virtual-clock.js";

describe("the reads of one owner", () => {
  it("are so many at once, in their order, and failed ones make room too", async () => {
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

  it("leave the database to others: a read among a thousand lists is answered after a few of them", async () => {
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
