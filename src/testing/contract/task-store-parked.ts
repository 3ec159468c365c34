import assert from "node:assert/strict";
import type { Head, TaskStore } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import { appendTo, entry, newTask, sibling, status } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const working = { status: { state: TaskState.WORKING, time: 1_000 } };
/** A time that no test reaches. */
const farTime = Date.UTC(9999, 0, 1);
const claim = { holder: "there", turn: 2 };

/** How tasks without a turn are counted. */
export function parkedTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("parked tasks", () => {
    it(
      "are counted by agent, those with a wake time and the others, however their turn ended",
      withStore(make, async (store) => {
        await store.create(newTask(working));
        assert.deepEqual(await countParked(store, ""), { timed: 0, untimed: 0 });
        await parkedTask(store, farTime);
        await parkedTask(store, undefined);
        await parkedTask(store, farTime, { scope: sibling });
        const asking = await store.create(newTask(working));
        const question = { ...status(TaskState.INPUT_REQUIRED, 9, 2), end: { inboxPut: 0 } };
        assert.equal(await store.append(appendTo(asking, question)), "stored");
        await store.create(newTask({ ...working, end: { inboxPut: 0 } }));
        await store.create(newTask({ status: { state: TaskState.COMPLETED, time: 5 }, end: { inboxPut: 0 } }));
        assert.deepEqual(await countParked(store, ""), { timed: 1, untimed: 3 });
        assert.deepEqual(await countParked(store, sibling.agent), { timed: 1, untimed: 0 });
        assert.deepEqual(await countParked(store, "missing"), { timed: 0, untimed: 0 });
      }),
    );
    it(
      "are counted until their next turn begins, or they end",
      withStore(make, async (store) => {
        const tasks = [];
        for (const wakeAt of [farTime, undefined, farTime, undefined]) tasks.push(await parkedTask(store, wakeAt));
        const [wokenTask, askingTask, ...canceledTasks] = tasks;
        assert.ok(wokenTask !== undefined && askingTask !== undefined);
        for (const head of [wokenTask, askingTask])
          assert.equal(await store.append(appendTo(head, { claim })), "stored");
        assert.deepEqual(await countParked(store, ""), { timed: 1, untimed: 1 });
        const again = { end: { inboxPut: 0, park: { wakeAt: undefined } } };
        assert.equal(await store.append(appendTo({ ...wokenTask, epoch: 2, seq: 3 }, again)), "stored");
        assert.deepEqual(await countParked(store, ""), { timed: 1, untimed: 2 });
        for (const head of canceledTasks) {
          const end = { ...status(TaskState.CANCELED, 9, 3), claim, end: { inboxPut: 0 } };
          assert.equal(await store.append(appendTo(head, end)), "stored");
        }
        assert.deepEqual(await countParked(store, ""), { timed: 0, untimed: 1 });
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
        assert.deepEqual(await countParked(store, ""), { timed: 0, untimed: 0 });
      }),
    );
  });
}

/** The counts alone: a store may also name its database. */
async function countParked(store: TaskStore, agent: string) {
  const { timed, untimed } = await store.parked(agent);
  return { timed, untimed };
}

/** Creates a task that is parked, and returns its head. */
async function parkedTask(store: TaskStore, wakeAt: number | undefined, changes: object = {}): Promise<Head> {
  const head = await store.create(newTask({ ...working, ...changes }));
  assert.equal(await store.append(appendTo(head, { end: { inboxPut: 0, park: { wakeAt } } })), "stored");
  return { ...head, seq: head.seq + 1 };
}
