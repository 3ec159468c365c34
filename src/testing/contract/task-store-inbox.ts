import assert from "node:assert/strict";
import type { TaskStore } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import { appendTo, entry, newTask, plainEntry, readHead, status } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const { INPUT_REQUIRED, COMPLETED, CANCELED } = TaskState;

/** Messages, cancels and wakes that are queued for a turn. */
export function inboxTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("an inbox", () => {
    it(
      "keeps entries in the order of their coming, cancels first",
      withStore(make, async (store) => {
        const { key } = await store.create(newTask());
        const inboxEntries = [entry("m1"), entry("w", "wake"), entry("m2"), entry("c", "cancel")];
        for (const one of inboxEntries) assert.equal(await store.put(key, one, 16), "stored");
        const { entries, inboxPut } = await store.inbox(key);
        const expected = [entry("c", "cancel"), entry("m1"), entry("w", "wake"), entry("m2")];
        assert.deepEqual(entries.map(plainEntry), expected.map(plainEntry));
        assert.equal(inboxPut, 4);
      }),
    );
    it(
      "takes so many messages, and one cancel and one wake always",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        const results = [];
        for (const id of ["m1", "m2", "m3"]) results.push(await store.put(head.key, entry(id), 2));
        results.push(
          await store.put(head.key, entry("c", "cancel"), 2),
          await store.put(head.key, entry("w", "wake"), 2),
        );
        assert.deepEqual(results, ["stored", "stored", "full", "stored", "stored"]);
        assert.deepEqual(await waitingIds(store, head.key), ["c", "m1", "m2", "w"]);
        assert.equal((await readHead(store, head)).inboxPut, 4);
      }),
    );
    it(
      "stores a second cancel, a second wake and a repeated entry without effect",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        const first = [entry("c1", "cancel"), entry("w1", "wake"), entry("m")];
        for (const one of [...first, entry("c2", "cancel"), entry("w2", "wake"), entry("m")]) {
          assert.equal(await store.put(head.key, one, 16), "stored");
        }
        assert.deepEqual(await waitingIds(store, head.key), ["c1", "w1", "m"]);
        assert.equal((await readHead(store, head)).inboxPut, 3);
      }),
    );
    it(
      "gives an entry back once, and still counts it as put",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        await store.put(head.key, entry("m1"), 1);
        assert.equal(await store.withdraw(head.key, "other"), false);
        assert.equal(await store.withdraw(head.key, "m1"), true);
        assert.equal(await store.withdraw(head.key, "m1"), false);
        assert.equal(await store.put(head.key, entry("m2"), 1), "stored");
        assert.deepEqual(await waitingIds(store, head.key), ["m2"]);
        assert.equal((await readHead(store, head)).inboxPut, 2);
      }),
    );
    it(
      "takes nothing for a task without a holder, one that has ended, or one that is gone",
      withStore(make, async (store) => {
        const idle = await store.create(
          newTask({ ...status(INPUT_REQUIRED, 5, 1), status: question, end: { inboxPut: 0 } }),
        );
        const heldTask = await store.create(newTask({ ...status(COMPLETED, 5, 1), status: completion }));
        for (const one of [entry("m"), entry("c", "cancel"), entry("w", "wake")]) {
          assert.equal(await store.put(idle.key, one, 16), "idle");
          assert.equal(await store.put(heldTask.key, one, 16), "ended");
          assert.equal(await store.put(4_711, one, 16), "ended");
        }
        assert.deepEqual(await store.inbox(idle.key), { entries: [], inboxPut: 0 });
        assert.deepEqual(await store.inbox(4_711), { entries: [], inboxPut: 0 });
        assert.equal(await store.withdraw(4_711, "m"), false);
      }),
    );
  });
  endTests({ describe, it }, make);
}

const completion = { state: COMPLETED, time: 5 };
const question = { state: INPUT_REQUIRED, time: 5 };

function endTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("ending a turn", () => {
    it(
      "is refused when something was put into the inbox since, and nothing changes",
      withStore(make, async (store) => {
        const newHead = await store.create(newTask());
        await store.put(newHead.key, entry("m"), 16);
        const head = await readHead(store, newHead);
        const end = appendTo(head, { ...status(INPUT_REQUIRED, 9, 2), end: { inboxPut: 0 }, takes: ["m"] });
        assert.equal(await store.append(end), "inboxMoved");
        assert.deepEqual(await readHead(store, newHead), head);
        assert.deepEqual(await waitingIds(store, head.key), ["m"]);
      }),
    );
    it(
      "is refused as well when what was put has been withdrawn",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        await store.put(head.key, entry("m"), 16);
        await store.withdraw(head.key, "m");
        assert.equal(await store.append(appendTo(head, { end: { inboxPut: 0 } })), "inboxMoved");
        assert.equal(await store.append(appendTo(head, { end: { inboxPut: 1 } })), "stored");
      }),
    );
    it(
      "leaves the task without a holder, at the same epoch",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        const end = appendTo(head, { ...status(INPUT_REQUIRED, 2_000, 2), end: { inboxPut: 0 } });
        assert.equal(await store.append(end), "stored");
        const after = { ...head, seq: 2, holder: "", state: INPUT_REQUIRED, statusTime: 2_000 };
        assert.deepEqual(await readHead(store, head), after);
      }),
    );
    it(
      "in a terminal state goes through whatever waits, and drops it",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        await store.put(head.key, entry("m"), 16);
        await store.put(head.key, entry("c", "cancel"), 16);
        assert.equal(await store.append(appendTo(head, { ...status(CANCELED, 9, 2), end: { inboxPut: 0 } })), "stored");
        assert.deepEqual(await store.inbox(head.key), { entries: [], inboxPut: 2 });
        assert.equal(await store.withdraw(head.key, "m"), false);
        assert.equal(await store.put(head.key, entry("m"), 16), "ended");
      }),
    );
    it(
      "when the state was terminal before goes through as well",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        await store.put(head.key, entry("m"), 16);
        await store.append(appendTo(head, status(COMPLETED, 9, 2)));
        assert.equal((await readHead(store, head)).holder, "here");
        const end = appendTo({ ...head, seq: 2 }, { end: { inboxPut: 0 } });
        assert.equal(await store.append(end), "stored");
        assert.equal((await readHead(store, head)).holder, "");
      }),
    );
    it(
      "takes entries out in the write that they caused, without counting them back",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        for (const id of ["m1", "m2", "m3"]) await store.put(head.key, entry(id), 16);
        assert.equal(await store.append(appendTo(head, { takes: ["m1", "m3"] })), "stored");
        assert.deepEqual(await waitingIds(store, head.key), ["m2"]);
        assert.equal((await store.inbox(head.key)).inboxPut, 3);
      }),
    );
    it(
      "changes nothing when an entry that it takes was withdrawn meanwhile",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        for (const id of ["m1", "m2"]) await store.put(head.key, entry(id), 16);
        await store.withdraw(head.key, "m2");
        const before = await readHead(store, head);
        assert.equal(await store.append(appendTo(head, { takes: ["m1", "m2"] })), "inboxMoved");
        assert.deepEqual(await readHead(store, head), before);
        assert.deepEqual(await waitingIds(store, head.key), ["m1"]);
      }),
    );
  });
}

async function waitingIds(store: TaskStore, key: number): Promise<string[]> {
  const { entries } = await store.inbox(key);
  return entries.map(({ id }) => id);
}
