import assert from "node:assert/strict";
import { create, toBinary } from "@bufbuild/protobuf";
import type { PushRegistration } from "../../core/ports.js";
import { TaskPushNotificationConfigSchema } from "../../protocol/model.js";
import { v1 } from "../../version/v1.0/v1.js";
import { alice } from "./fixtures.js";
import { type ContractTest, type MakePushStore, type Suite, testsOf, withStore } from "./suite.js";

function registration(key: number, id: string, changes: Partial<PushRegistration> = {}): PushRegistration {
  const config = create(TaskPushNotificationConfigSchema, {
    id,
    taskId: `task-${key}`,
    url: `https://hook.example/${id}`,
    token: "t0ken",
    authentication: { scheme: "Bearer", credentials: "secret" },
  });
  return { key, taskId: `task-${key}`, scope: alice, config, cursor: 0, version: v1.name, ...changes };
}

/** What every `PushStore` does: tests to be run by any runner. */
export function pushStoreContract(make: MakePushStore): readonly ContractTest[] {
  return testsOf((suite) => configTests(suite, make));
}

function configTests({ describe, it }: Suite, make: MakePushStore): void {
  describe("push configurations", () => {
    it(
      "gives back what was set, credentials too",
      withStore(make, async (store) => {
        const set = registration(1, "a", { cursor: 3, version: "another" });
        assert.equal(await store.set(set, 10), "stored");
        assert.deepEqual([await store.get(1, "a")].map(plain), [set].map(plain));
        const named = registration(3, "n", { taskName: "trip" });
        await store.set(named, 10);
        assert.deepEqual([await store.get(3, "n"), ...(await store.list(3))].map(plain), [named, named].map(plain));
        assert.equal(await store.get(1, "b"), undefined);
        assert.equal(await store.get(2, "a"), undefined);
      }),
    );
    it(
      "lists those of a task, the oldest first, a replaced one in its place",
      withStore(make, async (store) => {
        for (const id of ["c", "a", "b"]) await store.set(registration(1, id), 10);
        await store.set(registration(2, "d"), 10);
        const again = registration(1, "c", { cursor: 7 });
        assert.equal(await store.set(again, 3), "stored");
        const expected = [again, registration(1, "a"), registration(1, "b")];
        assert.deepEqual((await store.list(1)).map(plain), expected.map(plain));
        assert.deepEqual(await store.list(3), []);
      }),
    );
    it(
      "keeps so many for a task, and has room again after a deletion",
      withStore(make, async (store) => {
        const results = [];
        for (const id of ["a", "b", "c"]) results.push(await store.set(registration(1, id), 2));
        results.push(await store.set(registration(2, "a"), 2));
        await store.delete(1, "a");
        results.push(await store.set(registration(1, "c"), 2));
        assert.deepEqual(results, ["stored", "stored", "full", "stored", "stored"]);
        assert.deepEqual(
          (await store.list(1)).map(({ config }) => config.id),
          ["b", "c"],
        );
      }),
    );
    it(
      "deletes what is there, and minds nothing else",
      withStore(make, async (store) => {
        await store.set(registration(1, "a"), 10);
        await store.delete(1, "none");
        await store.delete(2, "a");
        assert.equal((await store.list(1)).length, 1);
        await store.delete(1, "a");
        await store.delete(1, "a");
        assert.deepEqual(await store.list(1), []);
      }),
    );
    it(
      "moves a cursor forward, never back, and not for what is gone",
      withStore(make, async (store) => {
        await store.set(registration(1, "a", { cursor: 2 }), 10);
        const cursors = [];
        for (const cursor of [5, 4, 6]) {
          await store.advance(1, "a", cursor);
          cursors.push((await store.get(1, "a"))?.cursor);
        }
        assert.deepEqual(cursors, [5, 5, 6]);
        await store.advance(1, "none", 9);
        assert.equal((await store.list(1)).length, 1);
      }),
    );
  });
}

function plain(registration: PushRegistration | undefined) {
  if (registration === undefined) return undefined;
  return { ...registration, config: toBinary(TaskPushNotificationConfigSchema, registration.config) };
}
