import assert from "node:assert/strict";
import type { Head, TaskStore } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import { alice, appendTo, entry, event, newTask, plainRecord, readHead, status } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const { INPUT_REQUIRED, COMPLETED } = TaskState;
const contenders = ["a", "b", "c", "d", "e", "f"] as const;

/** Guarantees under concurrent writes. */
export function raceTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("at the same time", () => {
    it(
      "of several claims one wins, whole, and the others change nothing",
      withStore(make, async (store) => {
        const newHead = await store.create(newTask());
        const winners: string[] = [];
        for (let round = 0; round < 10; round += 1) {
          const head = await readHead(store, newHead);
          const results = await Promise.all(contenders.map((name) => claim(store, head, name)));
          assert.deepEqual(results.toSorted(), [...Array<string>(5).fill("fenced"), "stored"]);
          winners.push(contenders[results.indexOf("stored")] ?? "");
          assert.equal((await readHead(store, newHead)).holder, winners.at(-1));
        }
        const records = await store.recordsAfter(newHead.key, 1, 100);
        assert.ok(records !== undefined && records !== "compacted");
        assert.deepEqual(
          records.records.map(plainRecord),
          winners.map((name, index) => plainRecord(event(index + 2, name))),
        );
        assert.equal(records.head.epoch, 11);
      }),
    );
    it(
      "of several creations of one id one wins",
      withStore(make, async (store) => {
        const task = newTask();
        const results = await Promise.allSettled(contenders.map((holder) => store.create({ ...task, holder })));
        const winners = contenders.filter((_, index) => results[index]?.status === "fulfilled");
        assert.equal(winners.length, 1);
        assert.equal((await readHead(store, task)).holder, winners[0]);
        assert.equal((await store.list(alice, { limit: 10 })).total, 1);
      }),
    );
    it(
      "writes to different tasks do not hinder each other, and one that is fenced is fenced alone",
      withStore(make, async (store) => {
        const heads = await Promise.all(contenders.map(() => store.create(newTask())));
        const writes = heads.map((head, index) => appendTo(index === 2 ? { ...head, epoch: 7 } : head));
        const results = await Promise.all(writes.map((write) => store.append(write)));
        assert.deepEqual(results, ["stored", "stored", "fenced", "stored", "stored", "stored"]);
      }),
    );
    endRaces({ describe, it }, make);
  });
}

function endRaces({ it }: Suite, make: MakeTaskStore): void {
  for (const putFirst of [true, false]) {
    const order = putFirst ? "a put and the end of a turn" : "the end of a turn and a put";
    it(
      `${order} never leave a message with a task without a running turn`,
      withStore(make, async (store) => {
        for (let round = 0; round < 20; round += 1) {
          const head = await store.create(newTask());
          const end = { ...status(INPUT_REQUIRED, 9, 2), end: { inboxPut: 0 } };
          const { put: putResult, ended: endResult } = await race(store, head, { end, putFirst });
          assert.ok(
            ["stored inboxMoved", "idle stored"].includes(`${putResult} ${endResult}`),
            `${putResult} ${endResult}`,
          );
        }
      }),
    );
    it(
      `${order} in a terminal state leave nothing waiting`,
      withStore(make, async (store) => {
        for (let round = 0; round < 20; round += 1) {
          const head = await store.create(newTask());
          const end = { ...status(COMPLETED, 9, 2), end: { inboxPut: 0 } };
          const { put: putResult, ended: endResult } = await race(store, head, { end, putFirst });
          assert.ok(
            ["stored stored", "ended stored"].includes(`${putResult} ${endResult}`),
            `${putResult} ${endResult}`,
          );
          assert.deepEqual((await store.inbox(head.key)).entries, []);
        }
      }),
    );
  }
  it(
    "an entry is taken, or withdrawn, and never both",
    withStore(make, async (store) => {
      for (let round = 0; round < 20; round += 1) {
        const head = await store.create(newTask());
        await store.put(head.key, entry("m"), 16);
        const take = store.append(appendTo(head, { takes: ["m"] }));
        const withdrawals = await Promise.all([store.withdraw(head.key, "m"), store.withdraw(head.key, "m")]);
        const takenCount = (await take) === "stored" ? 1 : 0;
        assert.equal(takenCount + withdrawals.filter(Boolean).length, 1);
        assert.deepEqual((await store.inbox(head.key)).entries, []);
      }
    }),
  );
}

function claim(store: TaskStore, head: Head, holder: string) {
  const records = [event(head.seq + 1, holder)];
  return store.append(appendTo(head, { records, claim: { holder, turn: head.turn + 1 } }));
}

interface Race {
  readonly end: Parameters<typeof appendTo>[1];
  readonly putFirst: boolean;
}

async function race(store: TaskStore, head: Head, { end, putFirst }: Race) {
  const putting = () => store.put(head.key, entry("m"), 16);
  const ending = () => store.append(appendTo(head, end));
  if (putFirst) {
    const [putResult, endResult] = await Promise.all([putting(), ending()]);
    return { put: putResult, ended: endResult };
  }
  const [endResult, putResult] = await Promise.all([ending(), putting()]);
  return { put: putResult, ended: endResult };
}
