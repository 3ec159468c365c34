import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import type { PushRegistration, TaskStore } from "../../core/ports.js";
import { assertOptions, flag, type MembersOf, object } from "../../protocol/check/rules.js";
import { indexedMaxBytes } from "../../protocol/indexed-text.js";
import { TaskPushNotificationConfigSchema } from "../../protocol/model.js";
import { v1 } from "../../version/v1.0/v1.js";
import { alice, appendTo, events, newTask, readHead, sibling } from "./fixtures.js";
import { type ContractTest, collectTests, type MakePushStore, type PushSubject, type Suite } from "./suite.js";

// Long enough for a networked store to respond in time, short enough to wait for.
const ttlMs = 400;
const long = 60_000;

function registration(key: number, id: string, changes: Partial<PushRegistration> = {}): PushRegistration {
  const config = create(TaskPushNotificationConfigSchema, {
    id,
    taskId: `task-${key}`,
    url: `https://hook.example/${id}`,
    token: "t0ken",
    authentication: { scheme: "Bearer", credentials: "secret" },
  });
  return { key, taskId: `task-${key}`, scope: alice, config, cursor: 0, version: v1.name, holder: "here", ...changes };
}

/** Options of the contract of push stores. */
export interface PushStoreContractOptions {
  /**
   * Whether the store shares tasks and instances with a task store, which `make` then returns too. Adds tests of how
   * holders' liveness affects adoption. Default: false.
   */
  readonly besideTasks?: boolean | undefined;
}

const rule = object({ besideTasks: { rule: flag } } satisfies MembersOf<PushStoreContractOptions>);

/**
 * Returns the tests that every `PushStore` must pass, for any runner.
 *
 * @example
 * ```ts
 * describe("our push store", () => {
 *   for (const { name, run } of pushStoreContract(async () => ({ store: openPushStore() }))) it(name, run);
 * });
 * ```
 */
export function pushStoreContract(
  make: MakePushStore,
  options: PushStoreContractOptions = {},
): readonly ContractTest[] {
  assertOptions("pushStoreContract()", options, rule);
  const { besideTasks = false } = options;
  return collectTests((suite) => {
    configTests(suite, make);
    settledTests(suite, make);
    adoptionTests(suite, make);
    distributionTests(suite, make);
    if (besideTasks) livenessTests(suite, make);
  });
}

function configTests({ describe, it }: Suite, make: MakePushStore): void {
  describe("push configurations", () => {
    it(
      "gives back what was set, credentials too",
      withSubject(make, async ({ store }) => {
        const config = registration(1, "a", { cursor: 3, version: "another" });
        assert.equal(await store.set(config, 10), "stored");
        assert.deepEqual([await store.get(1, "a")].map(plainRegistration), [config].map(plainRegistration));
        const namedConfig = registration(3, "n", { taskName: "trip" });
        await store.set(namedConfig, 10);
        assert.deepEqual(
          [await store.get(3, "n"), ...(await store.list(3))].map(plainRegistration),
          [namedConfig, namedConfig].map(plainRegistration),
        );
        assert.equal(await store.get(1, "b"), undefined);
        assert.equal(await store.get(2, "a"), undefined);
      }),
    );
    it(
      "takes ids up to their limit, with NULs too, and refuses longer ones",
      withSubject(make, async ({ store }) => {
        for (const id of ["\0\uffff".repeat(indexedMaxBytes.id / 8), "\u6f22".repeat(indexedMaxBytes.id / 3)]) {
          assert.equal(await store.set(registration(1, id), 10), "stored");
          assert.equal((await store.get(1, id))?.config.id, id);
          await assert.rejects(store.set(registration(1, `${id}xx`), 10), /id has \d+ bytes, the limit is 1024: /);
        }
        assert.equal((await store.list(1)).length, 2);
      }),
    );
    it(
      "lists those of a task, the oldest first, a replaced one in its place",
      withSubject(make, async ({ store }) => {
        for (const id of ["c", "a", "b"]) await store.set(registration(1, id), 10);
        await store.set(registration(2, "d"), 10);
        const again = registration(1, "c", { cursor: 7 });
        assert.equal(await store.set(again, 3), "stored");
        const expected = [again, registration(1, "a"), registration(1, "b")];
        assert.deepEqual((await store.list(1)).map(plainRegistration), expected.map(plainRegistration));
        assert.deepEqual(await store.list(3), []);
      }),
    );
    it(
      "keeps so many for a task, and has room again after a deletion",
      withSubject(make, async ({ store }) => {
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
      withSubject(make, async ({ store }) => {
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
      withSubject(make, async ({ store }) => {
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

function settledTests({ describe, it }: Suite, make: MakePushStore): void {
  describe("settled push configurations", () => {
    it(
      "are kept, with their cursor, until they are set anew",
      withSubject(make, async ({ store }) => {
        const config = registration(1, "a", { cursor: 2 });
        await store.set(config, 10);
        await store.set(registration(1, "b"), 10);
        await store.settle(1, "a", { holder: "here", cursor: 5 });
        const settledConfig = { ...config, cursor: 5, holder: "", settled: true };
        assert.deepEqual(
          (await store.list(1)).map(plainRegistration),
          [settledConfig, registration(1, "b")].map(plainRegistration),
        );
        assert.deepEqual([await store.get(1, "a")].map(plainRegistration), [settledConfig].map(plainRegistration));
        assert.equal(await store.set(registration(1, "c"), 2), "full");
        await store.set(config, 10);
        assert.deepEqual([await store.get(1, "a")].map(plainRegistration), [config].map(plainRegistration));
        await store.set(settledConfig, 10);
        assert.deepEqual([await store.get(1, "a")].map(plainRegistration), [settledConfig].map(plainRegistration));
      }),
    );
    it(
      "are never those that are gone, or that another instance holds",
      withSubject(make, async ({ store }) => {
        const config = registration(1, "a", { cursor: 2, holder: "elsewhere" });
        await store.set(config, 10);
        await store.settle(1, "a", { holder: "here", cursor: 5 });
        await store.settle(1, "none", { holder: "here", cursor: 5 });
        assert.deepEqual((await store.list(1)).map(plainRegistration), [config].map(plainRegistration));
      }),
    );
  });
}

function adoptionTests({ describe, it }: Suite, make: MakePushStore): void {
  describe("push configurations without a deliverer", () => {
    it(
      "are given away as they are, once, after their holder has left them",
      withSubject(make, async (subject) => {
        const { store } = subject;
        const config = await register(subject, "a", { taskName: "trip" });
        assert.deepEqual([await store.get(config.key, "a")].map(plainRegistration), [config].map(plainRegistration));
        await store.release("", "here");
        assert.equal((await store.get(config.key, "a"))?.holder, "");
        const adoptedConfig = { ...config, holder: "there" };
        assert.deepEqual(
          (await store.adopt("", "there", 10)).map(plainRegistration),
          [adoptedConfig].map(plainRegistration),
        );
        assert.deepEqual(
          [await store.get(config.key, "a")].map(plainRegistration),
          [adoptedConfig].map(plainRegistration),
        );
        assert.deepEqual(await store.adopt("", "elsewhere", 10), []);
      }),
    );
    it(
      "are not those of another, nor what was deleted or set since",
      withSubject(make, async (subject) => {
        const { store } = subject;
        const keptElsewhere = await register(subject, "kept", { holder: "elsewhere" });
        const deletedConfig = await register(subject, "deleted");
        const again = await register(subject, "again");
        const remaining = await register(subject, "left");
        await store.release("", "here");
        await store.release("", "never there");
        await store.delete(deletedConfig.key, "deleted");
        await store.set({ ...again, holder: "elsewhere" }, 10);
        const adoptions = await store.adopt("", "there", 10);
        assert.deepEqual(
          adoptions.map(({ config }) => config.id),
          ["left"],
        );
        assert.equal((await store.get(remaining.key, "left"))?.holder, "there");
        for (const { key, config } of [keptElsewhere, again]) {
          assert.equal((await store.get(key, config.id))?.holder, "elsewhere");
        }
      }),
    );
    it(
      "are not those that are settled, whatever their task still does",
      withSubject(make, async (subject) => {
        const { store } = subject;
        const endedConfig = await register(subject, "ended");
        const remaining = await register(subject, "left");
        await store.settle(endedConfig.key, "ended", { holder: "here", cursor: 0 });
        await register(subject, "made settled", { holder: "", settled: true });
        await store.release("", "here");
        const adoptions = await store.adopt("", "there", 10);
        assert.deepEqual(
          adoptions.map(({ config }) => config.id),
          [remaining.config.id],
        );
        assert.equal((await store.get(endedConfig.key, "ended"))?.settled, true);
      }),
    );
  });
}

function distributionTests({ describe, it }: Suite, make: MakePushStore): void {
  describe("push configurations without a deliverer", () => {
    it(
      "go to instances of their task's agent alone",
      withSubject(make, async (subject) => {
        const { store } = subject;
        const ownConfig = await register(subject, "mine");
        const siblingConfig = await register(subject, "theirs", { scope: sibling });
        assert.deepEqual((await store.get(siblingConfig.key, "theirs"))?.scope, sibling);
        await store.release("", "here");
        assert.equal((await store.get(ownConfig.key, "mine"))?.holder, "");
        assert.equal((await store.get(siblingConfig.key, "theirs"))?.holder, "here");
        await store.release("sibling", "here");
        const adoptedBy = async (agent: string) => (await store.adopt(agent, "there", 10)).map(({ key }) => key);
        assert.deepEqual(await adoptedBy("none"), []);
        assert.deepEqual(await adoptedBy("sibling"), [siblingConfig.key]);
        assert.deepEqual(await adoptedBy("sibling"), []);
        assert.deepEqual(await adoptedBy(""), [ownConfig.key]);
      }),
    );
    it(
      "go to one instance each, at most as many as asked for",
      withSubject(make, async (subject) => {
        const { store } = subject;
        const ids = ["a", "b", "c", "d", "e"];
        for (const id of ids) await register(subject, id);
        await store.release("", "here");
        const first = await store.adopt("", "there", 2);
        assert.equal(first.length, 2);
        const both = await Promise.all([store.adopt("", "there", 10), store.adopt("", "elsewhere", 10)]);
        const lastPage = await store.adopt("", "there", 10);
        const adoptedIds = [first, ...both, lastPage].flat().map(({ config }) => config.id);
        assert.deepEqual(adoptedIds.toSorted(), ids);
      }),
    );
  });
}

// Tests of a store that shares the tasks of a task store.
function livenessTests({ describe, it }: Suite, make: MakePushStore): void {
  describe("push configurations beside their tasks", () => {
    it(
      "are given away when their holder has expired, is retired or unknown, and not while it lives",
      withSubject(make, async (subject, advance) => {
        const { store } = subject;
        const tasks = getTasks(subject);
        for (const [id, holder, lives] of [
          ["a", "alive", long],
          ["b", "expiring", ttlMs],
          ["c", "retired", long],
        ] as const) {
          await tasks.renew(holder, lives);
          await register(subject, id, { holder });
        }
        assert.deepEqual(await store.adopt("", "there", 10), []);
        await register(subject, "d", { holder: "unknown" });
        await tasks.retire("retired");
        await advance(ttlMs + 1);
        const adoptions = await store.adopt("", "there", 10);
        assert.deepEqual(adoptions.map(({ config }) => config.id).toSorted(), ["b", "c", "d"]);
      }),
    );
    it(
      "are given away only when there is something to tell",
      withSubject(make, async (subject) => {
        const { store } = subject;
        const tasks = getTasks(subject);
        const head = await tasks.create(newTask({ records: events(0, 3) }));
        await store.set(registration(head.key, "a", { taskId: head.id, cursor: 3 }), 10);
        await store.release("", "here");
        assert.deepEqual(await store.adopt("", "there", 10), []);
        assert.equal(await tasks.append(appendTo(await readHead(tasks, head))), "stored");
        assert.equal((await store.adopt("", "there", 10)).length, 1);
      }),
    );
  });
}

// Makes a store, with its tasks if it knows them. The instances that adopt in these tests are live.
function withSubject(
  make: MakePushStore,
  body: (subject: PushSubject, advance: (ms: number) => Promise<void>) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const subject = await make();
    const { store, tasks, advance = (ms: number) => setTimeout(ms) } = subject;
    try {
      for (const instance of ["there", "elsewhere"]) await tasks?.renew(instance, long);
      await body(subject, advance);
    } finally {
      await store.close();
      await tasks?.close();
    }
  };
}

function getTasks({ tasks }: PushSubject): TaskStore {
  assert.ok(tasks !== undefined, "the task store is given with the push store");
  return tasks;
}

let lastKey = 0;

// Stores a registration that has an undelivered event.
async function register(
  { store, tasks }: PushSubject,
  id: string,
  changes: Partial<PushRegistration> = {},
): Promise<PushRegistration> {
  lastKey += 1;
  const { key, id: taskId } = (await tasks?.create(newTask(changes.scope && { scope: changes.scope }))) ?? {
    key: lastKey,
    id: `task-${lastKey}`,
  };
  const result = registration(key, id, { taskId, ...changes });
  assert.equal(await store.set(result, 10), "stored");
  return result;
}

function plainRegistration(registration: PushRegistration | undefined) {
  if (registration === undefined) return undefined;
  return { ...registration, config: toBinary(TaskPushNotificationConfigSchema, registration.config) };
}
