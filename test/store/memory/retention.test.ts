import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Head, TaskStore } from "../../../src/core/ports.js";
import type { Scope } from "../../../src/protocol/context.js";
import { TaskPushNotificationConfigSchema, TaskState } from "../../../src/protocol/model.js";
import { memoryTaskStore } from "../../../src/store/memory/task-store.js";
import { alice, appendTo, bob, event, events, newTask, sibling, status, taskAt } from "../../contract/fixtures.js";
import { createVirtualClock } from "../../support/virtual-clock.js";

const kibibyte = 1024;
const { COMPLETED, INPUT_REQUIRED } = TaskState;

/** Creates a task with one record and finishes it with a second. */
async function finish(store: TaskStore, bytes: number, name?: string, scope = alice): Promise<Head> {
  const head = await store.create(newTask({ bytes: 0, name, scope }));
  const { snapshot: _, ...done } = status(COMPLETED, 2_000, 2);
  const snapshot = { task: taskAt(2), bytes: 10 };
  expect(await store.append(appendTo(head, { ...done, snapshot, bytes, end: { inboxPut: 0 } }))).toBe("stored");
  return head;
}

async function whatIsLeft(store: TaskStore, heads: readonly Head[]): Promise<number[]> {
  const rest = await store.heads(heads.map(({ key }) => key));
  return rest.map(({ key }) => heads.findIndex((head) => head.key === key));
}

describe("a memory task store that is full", () => {
  // Requirements: V1-SEC-22
  it("a full memory task store drops finished tasks, the oldest first, to take a new one", async () => {
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

  it("a full memory task store drops the push configurations of a task with it, and of no other task", async () => {
    const store = memoryTaskStore({ maxBytes: 50 * kibibyte });
    const heads = [await finish(store, 10 * kibibyte), await finish(store, 10 * kibibyte)];
    for (const { key, id } of heads) {
      const config = create(TaskPushNotificationConfigSchema, { id: "p", url: "https://hook.example" });
      const settled = { holder: "", settled: true, cursor: 2 };
      await store.push?.set({ key, taskId: id, scope: alice, version: "1.0", config, ...settled }, 10);
    }
    const configCounts = async () => Promise.all(heads.map(async ({ key }) => (await store.push?.list(key))?.length));
    expect(await configCounts()).toEqual([1, 1]);
    await finish(store, 32 * kibibyte);
    expect(await configCounts()).toEqual([0, 1]);
    await store.close();
  });

  it("a full memory task store drops the name of a task with it, and of no other task", async () => {
    const store = memoryTaskStore({ maxBytes: 50 * kibibyte });
    await store.create(newTask({ scope: bob, name: "trip" }));
    const old = await finish(store, 10 * kibibyte, "trip");
    const key = await finish(store, 10 * kibibyte, "journey");
    expect(await store.taskNamed(alice, "trip")).toBe(old.id);
    await finish(store, 32 * kibibyte);
    expect(await whatIsLeft(store, [old, key])).toEqual([1]);
    const names = [await store.taskNamed(alice, "trip"), await store.taskNamed(alice, "journey")];
    expect(names).toEqual([undefined, key.id]);
    expect(await store.taskNamed(bob, "trip")).toBeDefined();
    const { id } = await store.create(newTask({ name: "trip" }));
    expect(await store.taskNamed(alice, "trip")).toBe(id);
    await store.close();
  });

  it("a full memory task store counts names as well", async () => {
    const store = memoryTaskStore({ maxBytes: 2 * kibibyte });
    const long = (payload: string): string => payload.repeat(kibibyte);
    await expect(store.create(newTask({ name: long("a") }))).rejects.toMatchObject({ code: "resourceExhausted" });
    expect(await store.taskNamed(alice, long("a"))).toBeUndefined();
    await store.close();
  });

  it("a full memory task store never drops an unfinished task, and refuses a new one", async () => {
    const store = memoryTaskStore({ maxBytes: 50 * kibibyte });
    // Callers that are not told apart.
    const scope = { ...alice, owner: "" };
    const head = await store.create(newTask({ scope, bytes: 20 * kibibyte }));
    const asking = { state: INPUT_REQUIRED, time: 1 };
    const idle = await store.create(newTask({ scope, bytes: 20 * kibibyte, status: asking, end: { inboxPut: 0 } }));
    const ended = { state: COMPLETED, time: 1 };
    const terminalButHeld = await store.create(newTask({ scope, bytes: kibibyte, status: ended }));
    const finished = await finish(store, 100);
    const over = store.create(newTask({ scope, bytes: 6 * kibibyte }));
    await expect(over).rejects.toMatchObject({ code: "resourceExhausted" });
    expect(await whatIsLeft(store, [head, idle, terminalButHeld, finished])).toEqual([0, 1, 2, 3]);
    await store.create(newTask({ scope, bytes: 5 * kibibyte }));
    expect(await whatIsLeft(store, [head, idle, terminalButHeld, finished])).toEqual([0, 1, 2]);
    await store.close();
  });

  it("a memory task store leaves each owner half of what the unfinished tasks of others leave", async () => {
    const store = memoryTaskStore({ maxBytes: 100 * kibibyte });
    const fill = async (scope: Scope): Promise<readonly Head[]> => {
      const heads: Head[] = [];
      for (;;) {
        const head = await store.create(newTask({ scope, bytes: 9 * kibibyte })).catch(() => undefined);
        if (head === undefined) return heads;
        heads.push(head);
      }
    };
    const [first, second, third] = [await fill(alice), await fill(bob), await fill({ ...bob, owner: "carol" })];
    expect([first, second, third].map(({ length }) => length)).toEqual([5, 2, 1]);
    // Whoever ends tasks has room again.
    const [head] = second;
    if (head === undefined) throw new Error("there is no task");
    await store.append(appendTo(head, { status: { state: COMPLETED, time: 5 }, end: { inboxPut: 0 } }));
    expect([await fill(bob), await fill(alice)].map(({ length }) => length)).toEqual([1, 0]);
    await store.close();
  });

  it("a memory task store lets no task grow beyond its owner's share, and takes the write that ends it", async () => {
    const store = memoryTaskStore({ maxBytes: 100 * kibibyte });
    const head = await store.create(newTask({ bytes: kibibyte }));
    const other = await store.create(newTask({ scope: bob, bytes: kibibyte }));
    let { seq } = head;
    const grow = () => store.append(appendTo({ ...head, seq }, { bytes: 10 * kibibyte })).then(() => (seq += 1));
    for (let count = 0; count < 4; count += 1) await grow();
    await expect(grow()).rejects.toMatchObject({
      code: "resourceExhausted",
      message: `the memory store is full: unfinished tasks of this caller take more than half of what others leave of ${100 * kibibyte} bytes (maxBytes)`,
      metadata: { limit: "maxBytes" },
    });
    expect((await store.read(alice, head.id))?.head.seq).toBe(seq);
    expect(await store.append(appendTo(other, { bytes: 20 * kibibyte }))).toBe("stored");
    const { snapshot, ...done } = status(COMPLETED, 2_000, seq + 1);
    const end = { ...done, snapshot, bytes: 10 * kibibyte, end: { inboxPut: 0 } };
    expect(await store.append(appendTo({ ...head, seq }, end))).toBe("stored");
    await store.close();
  });

  it("a memory task store refuses growth of callers that are not told apart only when it is full", async () => {
    const store = memoryTaskStore({ maxBytes: 100 * kibibyte });
    const head = await store.create(newTask({ scope: { ...alice, owner: "" }, bytes: kibibyte }));
    expect(await store.append(appendTo(head, { bytes: 90 * kibibyte }))).toBe("stored");
    const over = store.append(appendTo({ ...head, seq: 2 }, { bytes: 10 * kibibyte }));
    await expect(over).rejects.toMatchObject({ code: "resourceExhausted" });
    await store.close();
  });

  it("a memory task store counts what an owner has at all agents as one share", async () => {
    const store = memoryTaskStore({ maxBytes: 100 * kibibyte });
    await store.create(newTask({ bytes: 40 * kibibyte }));
    const more = store.create(newTask({ scope: sibling, bytes: 20 * kibibyte }));
    await expect(more).rejects.toMatchObject({ code: "resourceExhausted" });
    expect(await store.create(newTask({ scope: bob, bytes: 20 * kibibyte }))).toBeDefined();
    await store.close();
  });

  it("a memory task store drops finished tasks of an owner beyond its share before older ones of others", async () => {
    const store = memoryTaskStore({ maxBytes: 100 * kibibyte });
    const ofBob = [
      await finish(store, 10 * kibibyte, undefined, bob),
      await finish(store, 10 * kibibyte, undefined, bob),
    ];
    const ofAlice: Head[] = [];
    for (const scope of [alice, sibling, alice, sibling, alice, sibling, alice, sibling]) {
      ofAlice.push(await finish(store, 10 * kibibyte, undefined, scope));
    }
    expect(await whatIsLeft(store, ofBob)).toEqual([0, 1]);
    // Whoever writes, it is hers that go, until she has no more than her share.
    for (let count = 0; count < 2; count += 1) ofBob.push(await finish(store, 10 * kibibyte, undefined, bob));
    expect(await whatIsLeft(store, ofBob)).toEqual([0, 1, 2, 3]);
    expect(await whatIsLeft(store, ofAlice)).toEqual([3, 4, 5, 6, 7]);
    for (let count = 0; count < 2; count += 1) ofBob.push(await finish(store, 10 * kibibyte, undefined, bob));
    expect(await whatIsLeft(store, ofBob)).toEqual([1, 2, 3, 4, 5]);
    expect(await whatIsLeft(store, ofAlice)).toEqual([4, 5, 6, 7]);
    await store.close();
  });

  it("a memory task store lets one owner alone fill all of it with finished tasks", async () => {
    const store = memoryTaskStore({ maxBytes: 100 * kibibyte });
    const heads: Head[] = [];
    for (let count = 0; count < 8; count += 1) heads.push(await finish(store, 10 * kibibyte));
    expect(await whatIsLeft(store, heads)).toHaveLength(8);
    await store.close();
  });

  it("a full memory task store takes every write that ends a task, and keeps that task", async () => {
    const store = memoryTaskStore({ maxBytes: 20 * kibibyte });
    const old = await finish(store, 100);
    const head = await finish(store, 100 * kibibyte);
    expect(await whatIsLeft(store, [old, head])).toEqual([1]);
    const next = await store.create(newTask());
    expect(await whatIsLeft(store, [head, next])).toEqual([1]);
    await store.close();
  });

  it("a memory task store keeps a finished task that a late write makes too large", async () => {
    const store = memoryTaskStore({ maxBytes: 20 * kibibyte });
    const head = await finish(store, 100);
    expect(await store.append(appendTo({ ...head, seq: 2 }, { bytes: 100 * kibibyte }))).toBe("stored");
    expect(await whatIsLeft(store, [head])).toEqual([0]);
    await store.close();
  });

  it.each([
    { first: "the logs", finishedLogMaxBytes: 25 * kibibyte },
    { first: "the tasks", finishedLogMaxBytes: 1_000 * kibibyte },
  ])(
    "a memory task store has as much room after many have come and gone as at first, when $first go first",
    async ({ finishedLogMaxBytes }) => {
      const clock = createVirtualClock();
      const limits = { clock, maxBytes: 50 * kibibyte, finishedLogMs: 1_000, finishedLogMaxBytes };
      const store = memoryTaskStore(limits);
      for (let round = 0; round < 30; round += 1) {
        const head = await finish(store, round * kibibyte);
        await store.append(appendTo({ ...head, seq: 2 }, { bytes: 10 * round }));
        if (round % 4 === 3) await clock.advance(1_000);
      }
      const keptCount = async (used: TaskStore): Promise<number> => {
        for (let count = 0; count < 60; count += 1) await finish(used, 100);
        return (await used.list(alice, { limit: 1 })).total;
      };
      const room = async (used: TaskStore): Promise<number> => {
        for (let count = 0; ; count += 1) {
          const created = await used.create(newTask({ bytes: kibibyte })).catch(() => undefined);
          if (created === undefined) return count;
        }
      };
      const fresh = memoryTaskStore(limits);
      expect(await keptCount(store)).toBe(await keptCount(fresh));
      expect(await room(store)).toBe(await room(fresh));
      await fresh.close();
      await store.close();
    },
  );

  it("a memory task store keeps as many tasks after thousands as after a few", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ maxBytes: 100 * kibibyte, clock });
    const totals = new Set<number>();
    for (let index = 0; index < 5_000; index += 1) {
      await finish(store, 100);
      if (index % 500 === 499) totals.add((await store.list(alice, { limit: 1 })).total);
    }
    // Each of these tasks takes its head and 110 bytes.
    expect([...totals]).toEqual([90]);
    expect(clock.pending().length).toBe(1);
    await store.close();
  });
});

describe("conversations in a memory task store", () => {
  it("conversations of an owner at all agents take half of the rest, the least recent goes first", async () => {
    const store = memoryTaskStore({ conversationsMaxBytes: 20 * kibibyte });
    const said = { kind: "user", id: "m", taskId: "", at: 1, content: undefined, bytes: 4 * kibibyte } as const;
    const scopes = [bob, alice, sibling, { ...alice, agent: "third" }];
    for (const scope of scopes) {
      const write = { scope, contextId: "c", entries: [said], maxEntries: 10, usedAt: 1, expiresAt: undefined };
      await store.addToConversations([write]);
    }
    const pages = scopes.map((scope) => store.readConversation(scope, "c", { limit: 10, maxBytes: 1 << 20 }));
    expect((await Promise.all(pages)).map(({ length }) => length)).toEqual([1, 0, 0, 1]);
    await store.close();
  });
});

describe("the log of a finished task", () => {
  it("the log of a finished task is dropped after its time, and the snapshot stays", async () => {
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

  it("the log of a finished task is dropped earlier when all such logs take too much, the oldest first", async () => {
    const store = memoryTaskStore({ finishedLogMaxBytes: 25 * kibibyte });
    const heads = [];
    for (let index = 0; index < 4; index += 1) heads.push(await finish(store, 10 * kibibyte));
    const logs = await Promise.all(heads.map(({ key }) => store.recordsAfter(key, 0, 10)));
    expect(logs.map((log) => log === "compacted")).toEqual([true, true, false, false]);
    await store.close();
  });

  it("the log of a finished task frees its room when it is dropped", async () => {
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

  it("the log of a finished task keeps what no snapshot has folded in", async () => {
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

  it("the log of an unfinished task stays, however old it is", async () => {
    const clock = createVirtualClock();
    const store = memoryTaskStore({ clock, finishedLogMs: 1_000 });
    const head = await store.create(newTask({ snapshot: { task: taskAt(1), bytes: 10 }, end: { inboxPut: 0 } }));
    await clock.advance(1_000_000);
    expect(await store.recordsAfter(head.key, 0, 10)).toMatchObject({ records: events(0, 1) });
    await store.close();
  });
});
