import { describe, expect, it } from "vitest";
import type { NewSend, TaskStore } from "../../../src/core/ports.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { alice, message } from "../../contract/fixtures.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

const send = (messageId: string): NewSend => ({
  scope: alice,
  messageId,
  digest: "d",
  entry: `e-${messageId}`,
  taskId: `t-${messageId}`,
  seq: 0,
  instance: "here",
});

async function rememberedIds(store: TaskStore, ids: readonly string[]): Promise<string[]> {
  const records = await Promise.all(ids.map((id) => store.readSend(alice, id)));
  return ids.filter((_, index) => records[index] !== undefined);
}

describe("a memory task store remembers sends", () => {
  it("a memory task store remembers sends up to a number, and forgets the oldest first", async () => {
    const store = memoryTaskStore({ sendsMax: 2 });
    for (const id of ["a", "b", "c"]) await store.beginSend(send(id));
    expect(await rememberedIds(store, ["a", "b", "c"])).toEqual(["b", "c"]);
    await store.close();
  });

  it("a memory task store remembers sends for a time, which taking and settling do not prolong", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, sendsMaxAgeMs: 1_000 });
    const record = await store.beginSend(send("a"));
    await clock.advance(600);
    await store.beginSend(send("b"));
    await store.takeSend(record, "there");
    await store.settleSend({ ...record, attempt: 2 }, { kind: "task" }, 0);
    await clock.advance(399);
    expect(await rememberedIds(store, ["a", "b"])).toEqual(["a", "b"]);
    await clock.advance(1);
    expect(await rememberedIds(store, ["a", "b"])).toEqual(["b"]);
    expect(clock.pending()).toEqual([]);
    await store.close();
  });

  it("a memory task store remembers sends within a number of bytes, replies included", async () => {
    const store = memoryTaskStore({ sendsMaxBytes: 100_000 });
    const reply = { kind: "reply", message: message("r") } as const;
    const ids = Array.from({ length: 100 }, (_, index) => `m${index}`);
    for (const id of ids) await store.settleSend(await store.beginSend(send(id)), reply, 9_000);
    expect(await rememberedIds(store, ids)).toEqual(ids.slice(-10));
    for (const id of ids) {
      const record = await store.readSend(alice, id);
      if (record !== undefined) await store.forgetSend(record);
    }
    for (const id of ids) await store.beginSend(send(id));
    expect(await rememberedIds(store, ids)).toEqual(ids);
    await store.close();
  });
});
