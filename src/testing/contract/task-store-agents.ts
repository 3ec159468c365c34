import assert from "node:assert/strict";
import type { NewSend, NewTask, TaskStore } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import { alice, appendTo, newTask, sibling, status } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

/** Several agents in one store: an owner's tasks are separate for each agent. */
export function agentTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a task of one agent", () => {
    it(
      "is not read, nor named, at another",
      withStore(make, async (store) => {
        const { id, scope } = await store.create(newTask({ scope: sibling, name: "trip" }));
        assert.deepEqual(scope, sibling);
        assert.deepEqual([await store.read(alice, id), await store.head(alice, id)], [undefined, undefined]);
        assert.deepEqual([(await store.read(sibling, id))?.head.id, (await store.head(sibling, id))?.id], [id, id]);
        assert.deepEqual(
          [await store.taskNamed(alice, "trip"), await store.taskNamed(sibling, "trip")],
          [undefined, id],
        );
      }),
    );
    it(
      "is not listed, nor counted, at another, whatever the filters",
      withStore(make, async (store) => {
        const siblingTask = await store.create(newTask({ scope: sibling }));
        await store.append(appendTo(siblingTask, status(TaskState.WORKING, 5_000, 2)));
        const ownTasks = [await store.create(newTask()), await store.create(newTask())]
          .map(({ id }) => id)
          .toReversed();
        const filters = [{}, { contextId: "c" }, { since: 900 }, { contextId: "c", since: 900 }];
        for (const filter of filters.flatMap((each) => [each, { ...each, state: TaskState.SUBMITTED }])) {
          const { tasks, total, more } = await store.list(alice, { ...filter, limit: 2 });
          assert.deepEqual([tasks.map(({ head }) => head.id), total, more], [ownTasks, 2, false]);
        }
        for (const filter of [...filters, { state: TaskState.WORKING }]) {
          const { tasks, total } = await store.list(sibling, { ...filter, limit: 2 });
          assert.deepEqual([tasks.map(({ head }) => head.id), total], [[siblingTask.id], 1]);
        }
      }),
    );
  });
  sweepTests({ describe, it }, make);
  describe("a send that is done once at one agent", () => {
    it(
      "is another one at another under the same messageId",
      withStore(make, async (store) => {
        const ownSend = await store.beginSend(createSend(alice, "mine"));
        const siblingSend = await store.beginSend(createSend(sibling, "theirs"));
        assert.deepEqual(
          [ownSend.entry, ownSend.scope, siblingSend.entry, siblingSend.scope],
          ["mine", alice, "theirs", sibling],
        );
        assert.equal(await store.takeSend({ ...ownSend, scope: sibling }, "there"), false);
        assert.equal(await store.takeSend(siblingSend, "there"), true);
        assert.deepEqual(
          [(await store.readSend(alice, "m"))?.attempt, (await store.readSend(sibling, "m"))?.attempt],
          [1, 2],
        );
        assert.equal(await store.forgetSend(ownSend), true);
        assert.equal((await store.readSend(sibling, "m"))?.entry, "theirs");
      }),
    );
  });
}

function sweepTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("an agent's sweep", () => {
    it(
      "finds its own orphans, page by page, and none of another, even of one holder",
      withStore(make, async (store) => {
        const ownTasks = await createAll(store, [{}, {}, { holder: "there" }]);
        const siblingTasks = await createAll(store, [{ scope: sibling }, { scope: sibling, holder: "elsewhere" }]);
        const orphans = async (agent: string) => (await store.orphans(agent, 10)).map(({ key }) => key);
        assert.deepEqual(
          [await orphans(""), await orphans("sibling"), await orphans("none")],
          [ownTasks, siblingTasks, []],
        );
        const [first = 0, second] = ownTasks;
        assert.deepEqual(
          (await store.orphans("", 1, first)).map(({ key }) => key),
          [second],
        );
      }),
    );
    it(
      "finds its own parked tasks that are due, and none of another",
      withStore(make, async (store) => {
        const parkUntil = (wakeAt: number) => ({ end: { inboxPut: 0, park: { wakeAt } } });
        const ownTasks = await createAll(store, [parkUntil(10), parkUntil(30)]);
        const siblingTasks = await createAll(store, [
          { scope: sibling, ...parkUntil(5) },
          { scope: sibling, ...parkUntil(20) },
        ]);
        const due = async (agent: string) => (await store.due(agent, 10)).map(({ key }) => key);
        assert.deepEqual([await due(""), await due("sibling"), await due("none")], [ownTasks, siblingTasks, []]);
        const [first = 0, second] = siblingTasks;
        const nextPage = await store.due("sibling", 10, { wakeAt: 5, key: first });
        assert.deepEqual(
          nextPage.map(({ key }) => key),
          [second],
        );
      }),
    );
  });
}

async function createAll(store: TaskStore, tasks: readonly Partial<NewTask>[]): Promise<number[]> {
  const keys: number[] = [];
  for (const task of tasks) keys.push((await store.create(newTask(task))).key);
  return keys;
}

function createSend(scope: NewSend["scope"], entry: string): NewSend {
  return { scope, messageId: "m", entry, digest: "d", taskId: `task of ${entry}`, seq: 0, instance: "here" };
}
