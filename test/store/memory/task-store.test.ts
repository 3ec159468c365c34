import { describe, expect, it } from "vitest";
import { TaskState } from "../../../src/protocol/model.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { alice, appendTo, entry, event, newTask, readHead, status, taskAt } from "../../contract/fixtures.js";
import { createVirtualClock, settle } from "../../support/virtual-clock.js";

describe("a memory task store", () => {
  it("a memory task store keeps records, snapshots and entries as the objects that they were given as", async () => {
    const store = memoryTaskStore();
    const record = event(1);
    const snapshot = { task: taskAt(1), bytes: 10 };
    const head = await store.create(newTask({ records: [record], snapshot }));
    const message = entry("m");
    await store.put(head.key, message, 16);
    expect((await store.read(alice, head.id))?.snapshot?.task).toBe(snapshot.task);
    expect((await store.inbox(head.key)).entries[0]).toBe(message);
    const log = await store.recordsAfter(head.key, 0, 1);
    expect(typeof log === "object" && log.records[0]).toBe(record);
    await store.close();
  });

  it("a memory task store returns copies: later writes do not change them", async () => {
    const store = memoryTaskStore();
    const head = await store.create(newTask());
    await store.put(head.key, entry("m1"), 16);
    const [task, inbox] = [await store.read(alice, head.id), await store.inbox(head.key)];
    await store.append(appendTo(head, status(TaskState.WORKING, 2_000, 2)));
    await store.put(head.key, entry("m2"), 16);
    expect([task?.records.length, task?.head.seq, inbox.entries.length]).toEqual([1, 1, 1]);
    await store.close();
  });

  it("a memory task store holds writes back while a flush is delayed, then applies each by itself", async () => {
    const gates: { open: () => void; crash: (error: Error) => void; writes: number }[] = [];
    const beforeFlush = (writes: number) =>
      new Promise<void>((open, crash) => {
        gates.push({ open, crash, writes });
      });
    const store = memoryTaskStore({ beforeFlush });
    const creating = store.create(newTask());
    gates[0]?.open();
    const head = await creating;
    const append = store.append(appendTo(head));
    const others = [store.append(appendTo(head)), store.append(appendTo(head))];
    await settle();
    expect(await readHead(store, head)).toEqual(head);
    gates[1]?.crash(new Error("disk gone"));
    await expect(append).rejects.toThrow("disk gone");
    expect(await readHead(store, head)).toEqual(head);
    gates[2]?.open();
    expect(await Promise.all(others)).toEqual(["stored", "fenced"]);
    expect(gates.map(({ writes }) => writes)).toEqual([1, 1, 2]);
    await store.close();
  });

  it("a memory task store finishes the writes in flight when it is closed, and refuses later ones", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, beforeFlush: () => Promise.resolve() });
    await store.create(newTask({ status: { state: TaskState.COMPLETED, time: 1 }, end: { inboxPut: 0 } }));
    const creating = store.create(newTask());
    const closing = store.close();
    const { key, id } = await creating;
    await closing;
    const calls = {
      create: store.create(newTask()),
      append: store.append(appendTo({ key, epoch: 1, seq: 1 })),
      read: store.read(alice, id),
      head: store.head(alice, id),
      recordsAfter: store.recordsAfter(key, 0, 1),
      heads: store.heads([key]),
      list: store.list(alice, { limit: 1 }),
      put: store.put(key, entry("m"), 1),
      inbox: store.inbox(key),
      withdraw: store.withdraw(key, "m"),
      renew: store.renew("here", 1),
      retire: store.retire("here"),
      orphans: store.orphans("", 1),
    };
    for (const call of Object.values(calls)) await expect(call).rejects.toMatchObject({ code: "unavailable" });
    expect(clock.pending()).toEqual([]);
  });
});
