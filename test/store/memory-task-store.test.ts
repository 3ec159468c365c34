import { describe, expect, it } from "vitest";
import type { Head, TaskStore } from "../../src/core/ports.js";
import { TaskState } from "../../src/protocol/model.js";
import { memoryPushStore } from "../../src/store/memory/push-store.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { alice, appendTo, entry, event, events, headOf, newTask, status, taskAt } from "../contract/fixtures.js";
import { createVirtualClock, settle } from "../support/virtual-clock.js";

const kibibyte = 1024;
const { WORKING, COMPLETED, INPUT_REQUIRED } = TaskState;

/** A task with one record that is finished by a second. */
async function finish(store: TaskStore, bytes: number): Promise<Head> {
  const head = await store.create(newTask({ bytes: 0 }));
  const { snapshot: _, ...done } = status(COMPLETED, 2_000, 2);
  const snapshot = { task: taskAt(2), bytes: 10 };
  expect(await store.append(appendTo(head, { ...done, snapshot, bytes, end: { inboxPut: 0 } }))).toBe("stored");
  return head;
}

async function whatIsLeft(store: TaskStore, heads: readonly Head[]): Promise<number[]> {
  const left = await store.heads(heads.map(({ key }) => key));
  return left.map(({ key }) => heads.findIndex((head) => head.key === key));
}

describe("a memory task store that is full", () => {
  it("drops finished tasks, the oldest first, to take a new one", async () => {
    const store = memoryTaskStore({ maxBytes: 50 * kibibyte });
    const heads = [];
    for (let index = 0; index < 6; index += 1) heads.push(await finish(store, 10 * kibibyte));
    expect(await whatIsLeft(store, heads)).toEqual([2, 3, 4, 5]);
    const [first] = heads;
    expect(first && (await store.read(alice, first.id))).toBeUndefined();
    expect(first && (await store.recordsAfter(first.key, 0, 1))).toBeUndefined();
    expect((await store.list(alice, { limit: 10 })).total).toBe(4);
    await store.close();
  });

  it("never drops a task that is not finished, and refuses a new one when there is no room left", async () => {
    const store = memoryTaskStore({ maxBytes: 50 * kibibyte });
    const held = await store.create(newTask({ bytes: 20 * kibibyte }));
    const asking = { state: INPUT_REQUIRED, time: 1 };
    const idle = await store.create(newTask({ bytes: 20 * kibibyte, status: asking, end: { inboxPut: 0 } }));
    const terminalButHeld = await store.create(newTask({ bytes: kibibyte, status: { state: COMPLETED, time: 1 } }));
    const finished = await finish(store, 100);
    await expect(store.create(newTask({ bytes: 6 * kibibyte }))).rejects.toMatchObject({ code: "resourceExhausted" });
    expect(await whatIsLeft(store, [held, idle, terminalButHeld, finished])).toEqual([0, 1, 2, 3]);
    await store.create(newTask({ bytes: 5 * kibibyte }));
    expect(await whatIsLeft(store, [held, idle, terminalButHeld, finished])).toEqual([0, 1, 2]);
    await store.close();
  });

  it("takes every write to a task that it has, and keeps that task", async () => {
    const store = memoryTaskStore({ maxBytes: 20 * kibibyte });
    const old = await finish(store, 100);
    const head = await finish(store, 100 * kibibyte);
    expect(await whatIsLeft(store, [old, head])).toEqual([1]);
    const next = await store.create(newTask());
    expect(await whatIsLeft(store, [head, next])).toEqual([1]);
    await store.close();
  });

  it("keeps as many tasks after thousands as after a few", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ maxBytes: 100 * kibibyte, clock });
    const totals = new Set<number>();
    for (let index = 0; index < 5_000; index += 1) {
      await finish(store, 100);
      if (index % 500 === 499) totals.add((await store.list(alice, { limit: 1 })).total);
    }
    // A task of these takes its head and 110 bytes.
    expect([...totals]).toEqual([90]);
    expect(clock.pending().length).toBe(1);
    await store.close();
  });
});

describe("the log of a finished task", () => {
  it("goes after its time, and the snapshot stays", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, finishedLogMs: 1_000 });
    const first = await finish(store, 100);
    await clock.advance(600);
    const second = await finish(store, 100);
    await clock.advance(399);
    expect(await store.recordsAfter(first.key, 0, 10)).toMatchObject({ records: events(0, 2) });
    await clock.advance(1);
    expect(await store.recordsAfter(first.key, 0, 10)).toBe("compacted");
    expect(await store.recordsAfter(first.key, 1, 10)).toBe("compacted");
    expect(await store.recordsAfter(first.key, 2, 10)).toMatchObject({ records: [] });
    expect(await store.read(alice, first.id)).toMatchObject({ snapshot: { seq: 2, task: taskAt(2) }, records: [] });
    expect(await store.recordsAfter(second.key, 0, 10)).toMatchObject({ records: events(0, 2) });
    await clock.advance(600);
    expect(await store.recordsAfter(second.key, 0, 10)).toBe("compacted");
    expect(clock.pending()).toEqual([]);
    await store.close();
  });

  it("goes before its time when all such logs take too much, the oldest first", async () => {
    const store = memoryTaskStore({ finishedLogMaxBytes: 25 * kibibyte });
    const heads = [];
    for (let index = 0; index < 4; index += 1) heads.push(await finish(store, 10 * kibibyte));
    const logs = await Promise.all(heads.map(({ key }) => store.recordsAfter(key, 0, 10)));
    expect(logs.map((log) => log === "compacted")).toEqual([true, true, false, false]);
    await store.close();
  });

  it("makes room when it goes", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, maxBytes: 50 * kibibyte, finishedLogMs: 1_000 });
    const heads = [];
    for (let index = 0; index < 10; index += 1) {
      heads.push(await finish(store, 10 * kibibyte));
      await clock.advance(1_000);
    }
    expect(await whatIsLeft(store, heads)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    await store.close();
  });

  it("keeps what no snapshot has folded in", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, finishedLogMs: 1_000 });
    const head = await store.create(newTask());
    await store.append(appendTo(head, status(COMPLETED, 2_000, 2)));
    await store.append(appendTo({ ...head, seq: 2 }, { end: { inboxPut: 0 } }));
    await clock.advance(1_000);
    expect(await store.recordsAfter(head.key, 1, 10)).toBe("compacted");
    expect(await store.recordsAfter(head.key, 2, 10)).toMatchObject({ records: [event(3)] });
    await store.close();
  });

  it("of an unfinished task stays, however old it is", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, finishedLogMs: 1_000 });
    const head = await store.create(newTask({ snapshot: { task: taskAt(1), bytes: 10 }, end: { inboxPut: 0 } }));
    await clock.advance(1_000_000);
    expect(await store.recordsAfter(head.key, 0, 10)).toMatchObject({ records: events(0, 1) });
    await store.close();
  });
});

describe("a memory task store", () => {
  it("keeps records, snapshots and entries as the objects that they were given as", async () => {
    const store = memoryTaskStore();
    const record = event(1);
    const snapshot = { task: taskAt(1), bytes: 10 };
    const head = await store.create(newTask({ records: [record], snapshot }));
    const said = entry("m");
    await store.put(head.key, said, 16);
    expect((await store.read(alice, head.id))?.snapshot?.task).toBe(snapshot.task);
    expect((await store.inbox(head.key)).entries[0]).toBe(said);
    const log = await store.recordsAfter(head.key, 0, 1);
    expect(typeof log === "object" && log.records[0]).toBe(record);
    await store.close();
  });

  it("gives what it has read away: later writes do not show in it", async () => {
    const store = memoryTaskStore();
    const head = await store.create(newTask());
    await store.put(head.key, entry("m1"), 16);
    const [read, inbox] = [await store.read(alice, head.id), await store.inbox(head.key)];
    await store.append(appendTo(head, status(WORKING, 2_000, 2)));
    await store.put(head.key, entry("m2"), 16);
    expect([read?.records.length, read?.head.seq, inbox.entries.length]).toEqual([1, 1, 1]);
    await store.close();
  });

  it("holds writes back while a flight is delayed, then applies them together, each by itself", async () => {
    const gates: { open: () => void; crash: (error: Error) => void; writes: number }[] = [];
    const beforeFlush = (writes: number) =>
      new Promise<void>((open, crash) => {
        gates.push({ open, crash, writes });
      });
    const store = memoryTaskStore({ beforeFlush });
    const creating = store.create(newTask());
    gates[0]?.open();
    const head = await creating;
    const lost = store.append(appendTo(head));
    const others = [store.append(appendTo(head)), store.append(appendTo(head))];
    await settle();
    expect(await headOf(store, head)).toEqual(head);
    gates[1]?.crash(new Error("disk gone"));
    await expect(lost).rejects.toThrow("disk gone");
    expect(await headOf(store, head)).toEqual(head);
    gates[2]?.open();
    expect(await Promise.all(others)).toEqual(["stored", "fenced"]);
    expect(gates.map(({ writes }) => writes)).toEqual([1, 1, 2]);
    await store.close();
  });

  it("finishes what is in flight when it is closed, and refuses everything after", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, beforeFlush: () => Promise.resolve() });
    await finish(store, 100);
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
      orphans: store.orphans(1),
    };
    for (const call of Object.values(calls)) await expect(call).rejects.toMatchObject({ code: "unavailable" });
    expect(clock.pending()).toEqual([]);
  });
});

describe("a memory push store that is full", () => {
  it("refuses a new registration, takes a smaller one in its place, and has room again after a deletion", async () => {
    const store = memoryPushStore({ maxBytes: 2_000 });
    const { scope } = newTask();
    const base = { scope, taskId: "t", cursor: 0, version: "1.0" };
    const registration = (key: number, url: string) => ({ ...base, key, config: { ...config, url } });
    await store.set(registration(1, "x".repeat(800)), 10);
    await expect(store.set(registration(2, "x".repeat(800)), 10)).rejects.toMatchObject({ code: "resourceExhausted" });
    expect(await store.list(2)).toEqual([]);
    await store.set(registration(1, "x"), 10);
    await store.set(registration(2, "x".repeat(800)), 10);
    await expect(store.set(registration(3, "x".repeat(800)), 10)).rejects.toMatchObject({ code: "resourceExhausted" });
    await store.delete(2, "p");
    expect(await store.set(registration(3, "x".repeat(800)), 10)).toBe("stored");
    await store.close();
  });
});

const config = {
  $typeName: "lf.a2a.v1.TaskPushNotificationConfig",
  tenant: "",
  id: "p",
  taskId: "t",
  url: "",
  token: "",
} as const;
