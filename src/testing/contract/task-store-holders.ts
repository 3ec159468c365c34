import assert from "node:assert/strict";
import type { Head } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import { alice, appendTo, bob, entry, foreign, newTask, readHead, sibling, status } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

// Long enough for a networked store to respond in time, short enough to wait for.
const ttlMs = 400;
const long = 60_000;

/** Claims, expiring instances, and their orphaned tasks. */
export function holderTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a claim", () => {
    it(
      "raises the epoch, sets holder and turn, and fences the turn before",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        const claim = appendTo(head, { claim: { holder: "there", turn: 2 } });
        assert.equal(await store.append(claim), "stored");
        assert.deepEqual(await readHead(store, head), { ...head, seq: 2, epoch: 2, holder: "there", turn: 2 });
        assert.equal(await store.append(appendTo({ ...head, seq: 2 })), "fenced");
        assert.equal(await store.append(appendTo({ ...head, seq: 2, epoch: 2 })), "stored");
      }),
    );
    it(
      "that ends in the same write leaves the task without a holder at the new epoch",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        const write = {
          ...status(TaskState.CANCELED, 9, 2),
          claim: { holder: "there", turn: 1 },
          end: { inboxPut: 0 },
        };
        assert.equal(await store.append(appendTo(head, write)), "stored");
        const { epoch, holder, state } = await readHead(store, head);
        assert.deepEqual({ epoch, holder, state }, { epoch: 2, holder: "", state: TaskState.CANCELED });
        assert.deepEqual(await store.orphans("", 10), []);
      }),
    );
  });
  describe("a holder", () => {
    it(
      "lives from its registration until it expires, and again when it is renewed",
      withStore(make, async (store, advance) => {
        const task = await store.create(newTask());
        assert.equal(task.holderLive, false);
        await store.renew("here", ttlMs);
        assert.equal((await readHead(store, task)).holderLive, true);
        await advance(ttlMs + 1);
        assert.equal((await readHead(store, task)).holderLive, false);
        await store.renew("here", ttlMs);
        assert.equal((await readHead(store, task)).holderLive, true);
        assert.equal((await store.read(task.scope, task.id))?.head.holderLive, true);
        assert.deepEqual(
          (await store.heads([task.key])).map(({ holderLive }) => holderLive),
          [true],
        );
      }),
    );
    it(
      "that is retired is not live at once, and may still write until it is fenced",
      withStore(make, async (store) => {
        await store.renew("here", long);
        const head = await store.create(newTask());
        await store.retire("here");
        assert.equal((await readHead(store, head)).holderLive, false);
        assert.equal(await store.put(head.key, entry("m"), 16), "stored");
        assert.equal(await store.append(appendTo(head)), "stored");
        await store.retire("never registered");
      }),
    );
  });
  describe("the leases of live instances", () => {
    it(
      "that last for another time than the given one are found, each length once",
      withStore(make, async (store, advance) => {
        await store.renew("here", long);
        assert.deepEqual(await store.otherTtls(long), []);
        await store.renew("there", 2 * long);
        await store.renew("elsewhere", 2 * long);
        await store.renew("gone", ttlMs);
        await advance(ttlMs + 1);
        assert.deepEqual(await store.otherTtls(long), [2 * long]);
        assert.deepEqual(await store.otherTtls(2 * long), [long]);
        await store.renew("there", long);
        await store.retire("elsewhere");
        assert.deepEqual(await store.otherTtls(long), []);
      }),
    );
  });
  orphanTests({ describe, it }, make);
  waitingTests({ describe, it }, make);
}

const asks = (time: number) => ({ status: { state: TaskState.INPUT_REQUIRED, time }, end: { inboxPut: 0 } });

function waitingTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("tasks that wait for their callers", () => {
    it(
      "are those without a holder that have not ended, of one agent, oldest first",
      withStore(make, async (store) => {
        const newer = await store.create(newTask(asks(2000)));
        const older = await store.create(newTask(asks(1000)));
        const sameTime = await store.create(newTask(asks(2000)));
        const endParked = {
          status: { state: TaskState.WORKING, time: 3000 },
          end: { inboxPut: 0, park: { wakeAt: undefined } },
        };
        const resting = await store.create(newTask(endParked));
        await store.create(newTask({ ...endParked, end: { inboxPut: 0, park: { wakeAt: 5 } } }));
        await store.create(newTask());
        await store.create(newTask({ status: completion, end: { inboxPut: 0 } }));
        await store.create(newTask({ ...asks(1000), scope: sibling }));
        const listAsking = async (limit: number, after?: Pick<Head, "statusTime" | "key">) =>
          (await store.waiting("", 0, limit, after)).map(({ key }) => key);
        assert.deepEqual(await listAsking(10), [older.key, newer.key, sameTime.key, resting.key]);
        assert.deepEqual(await listAsking(2), [older.key, newer.key]);
        assert.deepEqual(await listAsking(10, { statusTime: 2000, key: newer.key }), [sameTime.key, resting.key]);
        await store.append(appendTo(older, { claim: { holder: "here", turn: 2 } }));
        assert.deepEqual(await listAsking(1), [newer.key]);
      }),
    );
    it(
      "are given only when their last status is old enough",
      withStore(make, async (store) => {
        const now = await store.renew("here", long);
        const oldTask = await store.create(newTask(asks(now - 3_600_000)));
        await store.create(newTask(asks(now)));
        assert.deepEqual(
          (await store.waiting("", 1_800_000, 10)).map(({ key }) => key),
          [oldTask.key],
        );
      }),
    );
    it(
      "count as unfinished, like those that run, for their own scope",
      withStore(make, async (store) => {
        await store.create(newTask(asks(1)));
        const runningTask = await store.create(newTask());
        await store.create(newTask({ status: completion, end: { inboxPut: 0 } }));
        await store.create(newTask({ scope: bob }));
        assert.deepEqual([await store.unfinished(alice), await store.unfinished(bob)], [2, 1]);
        await store.append(appendTo(runningTask, { ...status(TaskState.FAILED, 9, 2), end: { inboxPut: 0 } }));
        assert.deepEqual([await store.unfinished(alice), await store.unfinished(foreign)], [1, 0]);
      }),
    );
  });
}

function orphanTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("orphans", () => {
    it(
      "are the tasks of expired, retired and unknown holders, whatever their state",
      withStore(make, async (store) => {
        await store.renew("here", long);
        await store.renew("gone", long);
        await store.create(newTask());
        const lostTask = await store.create(newTask({ holder: "gone" }));
        const endedTask = await store.create(
          newTask({ holder: "gone", ...status(TaskState.COMPLETED, 5, 1), status: completion }),
        );
        const unknownHolder = await store.create(newTask({ holder: "unknown" }));
        const free = newTask({ holder: "gone", status: completion, end: { inboxPut: 0 } });
        await store.create(free);
        assert.deepEqual(
          (await store.orphans("", 10)).map(({ id }) => id),
          [unknownHolder.id],
        );
        await store.retire("gone");
        const ids = (await store.orphans("", 10)).map(({ id }) => id);
        assert.deepEqual(ids.toSorted(), [lostTask.id, endedTask.id, unknownHolder.id].toSorted());
      }),
    );
    it(
      "are given with heads that say so, at most as many as asked for",
      withStore(make, async (store) => {
        for (let index = 0; index < 5; index += 1) await store.create(newTask());
        assert.equal((await store.orphans("", 3)).length, 3);
        const orphans = await store.orphans("", 10);
        assert.equal(orphans.length, 5);
        assert.ok(orphans.every(({ holder, holderLive }) => holder === "here" && !holderLive));
      }),
    );
    it(
      "come in the order of their keys, and behind one of them when it is named",
      withStore(make, async (store) => {
        const keys: number[] = [];
        for (const holder of ["one", "two", "one", "three", "two"])
          keys.push((await store.create(newTask({ holder }))).key);
        const listOrphans = async (limit: number, after?: number) =>
          (await store.orphans("", limit, after)).map(({ key }) => key);
        assert.deepEqual(await listOrphans(10), keys);
        assert.deepEqual(await listOrphans(2, keys[1]), keys.slice(2, 4));
        assert.deepEqual(await listOrphans(10, keys[4]), []);
        await store.renew("one", long);
        assert.deepEqual(await listOrphans(10, keys[0]), [keys[1], keys[3], keys[4]]);
      }),
    );
    it(
      "are no longer orphans when claimed by a live holder, or ended",
      withStore(make, async (store) => {
        await store.renew("there", long);
        const first = await store.create(newTask());
        const second = await store.create(newTask());
        await store.append(appendTo(first, { claim: { holder: "there", turn: 1 } }));
        await store.append(appendTo(second, { ...status(TaskState.FAILED, 9, 2), end: { inboxPut: 0 } }));
        assert.deepEqual(await store.orphans("", 10), []);
        assert.equal((await readHead(store, first)).holderLive, true);
      }),
    );
  });
}

const completion = { state: TaskState.COMPLETED, time: 5 };
