import assert from "node:assert/strict";
import type { Head, TaskStore } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import { appendTo, entry, newTask, sibling, status } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const working = { status: { state: TaskState.WORKING, time: 1_000 } };
/** A time that no test reaches. */
const far = Date.UTC(9999, 0, 1);
const claim = { holder: "there", turn: 2 };

/** How tasks without a turn are counted. */
export function parkedTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("parked tasks", () => {
    it(
      "are counted by agent, those with a wake time and the others, however their turn ended",
      withStore(make, async (store) => {
        await store.create(newTask(working));
        assert.deepEqual(await counted(store, ""), { timed: 0, untimed: 0 });
        await parkedTask(store, far);
        await parkedTask(store, undefined);
        await parkedTask(store, far, { scope: sibling });
        const asking = await store.create(newTask(working));
        const question = { ...status(TaskState.INPUT_REQUIRED, 9, 2), end: { inboxPut: 0 } };
        assert.equal(await store.append(appendTo(asking, question)), "stored");
        await store.create(newTask({ ...working, end: { inboxPut: 0 } }));
        await store.create(newTask({ status: { state: TaskState.COMPLETED, time: 5 }, end: { inboxPut: 0 } }));
        assert.deepEqual(await counted(store, ""), { timed: 1, untimed: 3 });
        assert.deepEqual(await counted(store, sibling.agent), { timed: 1, untimed: 0 });
        assert.deepEqual(await counted(store, "missing"), { timed: 0, untimed: 0 });
      }),
    );
    it(
      "are counted until their next turn begins, or they end",
      withStore(make, async (store) => {
        const tasks = [];
        for (const wakeAt of [far, undefined, far, undefined]) tasks.push(await parkedTask(store, wakeAt));
        const [woken, asked, ...canceled] = tasks;
        assert.ok(woken !== undefined && asked !== undefined);
        for (const head of [woken, asked]) assert.equal(await store.append(appendTo(head, { claim })), "stored");
        assert.deepEqual(await counted(store, ""), { timed: 1, untimed: 1 });
        const again = { end: { inboxPut: 0, park: { wakeAt: undefined } } };
        assert.equal(await store.append(appendTo({ ...woken, epoch: 2, seq: 3 }, again)), "stored");
        assert.deepEqual(await counted(store, ""), { timed: 1, untimed: 2 });
        for (const head of canceled) {
          const end = { ...status(TaskState.CANCELED, 9, 3), claim, end: { inboxPut: 0 } };
          assert.equal(await store.append(appendTo(head, end)), "stored");
        }
        assert.deepEqual(await counted(store, ""), { timed: 0, untimed: 1 });
      }),
    );
    it(
      "are none of those whose write was refused",
      withStore(make, async (store) => {
        const head = await store.create(newTask(working));
        await store.put(head.key, entry("w", "wake"), 16);
        const end = { inboxPut: 0, park: { wakeAt: undefined } };
        assert.equal(await store.append(appendTo(head, { end })), "inboxMoved");
        assert.equal(await store.append(appendTo({ ...head, epoch: 2 }, { end })), "fenced");
        assert.deepEqual(await counted(store, ""), { timed: 0, untimed: 0 });
      }),
    );
  });
}

/** The counts alone: a store may also name its database. */
async function counted(store: TaskStore, agent: string) {
  const { timed, untimed } = await store.parked(agent);
  return { timed, untimed };
}

/** Creates a task that is parked, and returns its head. */
async function parkedTask(store: TaskStore, wakeAt: number | undefined, changes: object = {}): Promise<Head> {
  const head = await store.create(newTask({ ...working, ...changes }));
  assert.equal(await store.append(appendTo(head, { end: { inboxPut: 0, park: { wakeAt } } })), "stored");
  return { ...head, seq: head.seq + 1 };
}
