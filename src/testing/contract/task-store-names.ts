import assert from "node:assert/strict";
import { TaskState } from "../../protocol/model.js";
import { alice, appendTo, bob, foreign, newTask, readHead, sibling, status } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

/** Names that callers choose for their tasks. */
export function nameTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("the name of a task", () => {
    it(
      "leads to its task in its scope, and nowhere else",
      withStore(make, async (store) => {
        const { id } = await store.create(newTask({ name: "trip" }));
        await store.create(newTask());
        assert.equal(await store.taskNamed(alice, "trip"), id);
        for (const other of ["Trip", "trip ", "", id]) assert.equal(await store.taskNamed(alice, other), undefined);
        for (const scope of [bob, foreign, sibling]) assert.equal(await store.taskNamed(scope, "trip"), undefined);
      }),
    );
    it(
      "may be used once in each scope",
      withStore(make, async (store) => {
        const makeId = ({ agent, tenant, owner }: typeof alice) => owner + tenant + agent;
        const scopes = [alice, bob, foreign, sibling];
        for (const scope of scopes) await store.create(newTask({ scope, name: "trip", id: makeId(scope) }));
        for (const scope of scopes) assert.equal(await store.taskNamed(scope, "trip"), makeId(scope));
      }),
    );
    it(
      "distinguishes scopes and names that are spelled alike when joined",
      withStore(make, async (store) => {
        const [one, other] = [
          { agent: "", tenant: "a", owner: "b" },
          { agent: "", tenant: "", owner: "ab" },
        ];
        const names = ['"', "b\n", "\u{1f9ed}", "n".repeat(200)];
        for (const scope of [one, other]) {
          for (const name of names)
            await store.create(newTask({ scope, name, id: `${scope.owner}-${names.indexOf(name)}` }));
        }
        for (const scope of [one, other]) {
          const ids = await Promise.all(names.map((name) => store.taskNamed(scope, name)));
          assert.deepEqual(
            ids,
            names.map((_, index) => `${scope.owner}-${index}`),
          );
        }
      }),
    );
    it(
      "stays with a task that has ended",
      withStore(make, async (store) => {
        const head = await store.create(newTask({ name: "trip" }));
        const completion = { ...status(TaskState.COMPLETED, 2_000, 2), end: { inboxPut: 0 } };
        assert.equal(await store.append(appendTo(head, completion)), "stored");
        assert.equal(await store.taskNamed(alice, "trip"), head.id);
        await assert.rejects(store.create(newTask({ name: "trip" })));
      }),
    );
  });
  takenTests({ describe, it }, make);
}

function takenTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a name that is taken", () => {
    it(
      "is refused to a new task, of which nothing is written",
      withStore(make, async (store) => {
        const first = await store.create(newTask({ name: "trip" }));
        const late = newTask({ name: "trip" });
        await assert.rejects(store.create(late));
        assert.equal(await store.head(alice, late.id), undefined);
        assert.equal((await store.list(alice, { limit: 10 })).total, 1);
        assert.equal(await store.taskNamed(alice, "trip"), first.id);
        assert.deepEqual(await readHead(store, first), first);
      }),
    );
    it(
      "leaves the refused task free to be made without it",
      withStore(make, async (store) => {
        await store.create(newTask({ name: "trip" }));
        const late = newTask({ name: "trip" });
        await assert.rejects(store.create(late));
        const { id } = await store.create({ ...late, name: "journey" });
        assert.equal(await store.taskNamed(alice, "journey"), id);
      }),
    );
    it(
      "goes to one of several tasks that are made at once",
      withStore(make, async (store) => {
        const tasks = Array.from({ length: 5 }, () => newTask({ name: "trip" }));
        const results = await Promise.allSettled(tasks.map((task) => store.create(task)));
        const heads = results.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
        assert.equal(heads.length, 1);
        assert.equal(await store.taskNamed(alice, "trip"), heads[0]?.id);
        assert.equal((await store.list(alice, { limit: 10 })).total, 1);
      }),
    );
    it(
      "is not taken by a task that was refused for its id",
      withStore(make, async (store) => {
        const { id } = await store.create(newTask());
        await assert.rejects(store.create(newTask({ id, name: "trip" })));
        assert.equal(await store.taskNamed(alice, "trip"), undefined);
      }),
    );
  });
}
