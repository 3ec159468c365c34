import assert from "node:assert/strict";
import type { LogRecord } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import {
  alice,
  appendTo,
  assertRecords,
  assertWhole,
  bob,
  event,
  events,
  foreign,
  message,
  newTask,
  readHead,
  status,
  taskAt,
} from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const { WORKING, COMPLETED } = TaskState;

/** Records, fence, snapshots, scope. */
export function logTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("creating", () => {
    it(
      "gives a head that says what was given",
      withStore(make, async (store) => {
        const task = newTask({ records: events(0, 3), contextId: "talk", version: "another" });
        const head = await store.create(task);
        const { key, incarnation, holderLive, turn, turnSeq, ...said } = head;
        const { id, scope } = task;
        const expected = {
          id,
          scope,
          contextId: "talk",
          version: "another",
          seq: 3,
          epoch: 1,
          holder: "here",
          inboxPut: 0,
          wakeAt: undefined,
        };
        assert.deepEqual(said, { ...expected, state: TaskState.SUBMITTED, statusTime: 1_000 });
        assert.deepEqual([turn, turnSeq], [1, 0]);
        assert.equal(holderLive, false);
        assert.ok(Number.isSafeInteger(key) && incarnation !== "");
        assert.deepEqual(await store.head(scope, id), head);
      }),
    );
    it(
      "leaves a task without a holder when the same write ends the turn",
      withStore(make, async (store) => {
        const head = await store.create(
          newTask({ ...status(COMPLETED, 5, 1), status: completion, end: { inboxPut: 0 } }),
        );
        assert.equal(head.holder, "");
        assert.equal(head.holderLive, false);
        assert.equal(head.epoch, 1);
      }),
    );
    it(
      "refuses an id that exists, in any scope, and leaves the first task as it was",
      withStore(make, async (store) => {
        const task = newTask();
        const head = await store.create(task);
        await assert.rejects(store.create({ ...task, scope: bob, records: events(0, 2) }));
        assert.deepEqual(await store.head(alice, task.id), head);
        assert.equal(await store.head(bob, task.id), undefined);
      }),
    );
    it(
      "numbers tasks upwards",
      withStore(make, async (store) => {
        const first = await store.create(newTask());
        const second = await store.create(newTask());
        assert.ok(second.key > first.key);
      }),
    );
  });
  appendTests({ describe, it }, make);
  readTests({ describe, it }, make);
  compactTests({ describe, it }, make);
}

const completion = { state: COMPLETED, time: 5 };

function appendTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("appending", () => {
    it(
      "adds records behind the last one and moves the head",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        assert.equal(await store.append(appendTo(head, { records: events(1, 4) })), "stored");
        const working = appendTo({ ...head, seq: 5 }, status(WORKING, 2_000, 6));
        assert.equal(await store.append(working), "stored");
        assert.deepEqual(await readHead(store, head), { ...head, seq: 6, state: WORKING, statusTime: 2_000 });
        const task = await store.read(alice, head.id);
        assert.ok(task !== undefined);
        assertWhole(task, events(0, 6));
      }),
    );
    const stale = { "an old epoch": { epoch: 0 }, "a later epoch": { epoch: 2 }, "an old number": { seq: 1 } };
    for (const [what, fence] of Object.entries({ ...stale, "a later number": { seq: 3 } })) {
      it(
        `with ${what} is fenced and changes nothing`,
        withStore(make, async (store) => {
          const head = await store.create(newTask({ records: events(0, 2) }));
          await store.put(head.key, { id: "m", kind: "cancel" }, 16);
          const before = await store.read(alice, head.id);
          const place = { ...head, ...fence };
          const change = {
            ...status(COMPLETED, 9, 3),
            end: { inboxPut: 1 },
            takes: ["m"],
            claim: { holder: "x", turn: 9 },
          };
          assert.equal(await store.append(appendTo(place, change)), "fenced");
          assert.deepEqual(await store.read(alice, head.id), before);
          assert.equal((await store.inbox(head.key)).entries.length, 1);
        }),
      );
    }
    it(
      "to a task that never was is fenced",
      withStore(make, async (store) => {
        assert.equal(await store.append(appendTo({ key: 4_711, epoch: 1, seq: 1 })), "fenced");
      }),
    );
    it(
      "refuses numbers that do not follow, and nothing changes",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        await assert.rejects(store.append(appendTo(head, { records: [event(3)] })));
        await assert.rejects(store.append(appendTo(head, { records: [event(2), event(4)] })));
        assert.deepEqual(await readHead(store, head), head);
      }),
    );
    it(
      "never lets the status time run backwards",
      withStore(make, async (store) => {
        const head = await store.create(newTask({ status: { state: WORKING, time: 500 } }));
        await store.append(appendTo(head, { status: { state: TaskState.INPUT_REQUIRED, time: 400 } }));
        assert.equal((await readHead(store, head)).statusTime, 500);
      }),
    );
    it(
      "keeps every kind of record as it was",
      withStore(make, async (store) => {
        const log = [
          { kind: "message", seq: 1, message: message("m"), entry: "e" },
          { kind: "turnStarted", seq: 2, turn: 1, attempt: 1, cause: "message" },
          event(3),
          {
            kind: "turnEnded",
            seq: 4,
            error: {
              code: "invalidParams",
              message: "why",
              violations: [{ field: "message", description: "is odd" }],
              reason: "BERTH_TAKEN",
              domain: "harbour.example",
              metadata: { taskId: "t" },
              retryAfterMs: 1000,
            },
          },
          { kind: "turnEnded", seq: 5 },
        ] as const;
        const head = await store.create(newTask({ records: log }));
        const answer = await store.recordsAfter(head.key, 0, 10);
        assert.ok(answer !== undefined && answer !== "compacted");
        assertRecords(answer.records, log);
      }),
    );
  });
}

const sortedSeqs = (records: readonly LogRecord[]): readonly number[] =>
  records.map(({ seq }) => seq).toSorted((left, right) => left - right);

function compactTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a log that is shortened while its task runs", () => {
    it(
      "reaches back to the number given, and keeps what it has to keep",
      withStore(make, async (store) => {
        let head = await store.create(newTask());
        for (let seq = 1; seq < 12; seq += 1) {
          const snapshot = seq % 4 === 0 ? { task: taskAt(seq + 1), bytes: 50 } : undefined;
          await store.append(appendTo(head, { snapshot }));
          head = { ...head, seq: seq + 1 };
        }
        await store.compact(head.key, 5, [1, 3]);
        assert.equal(await store.recordsAfter(head.key, 4, 10), "compacted");
        const answer = await store.recordsAfter(head.key, 5, 10);
        assert.ok(answer !== undefined && answer !== "compacted");
        assert.deepEqual(sortedSeqs(answer.records), [6, 7, 8, 9, 10, 11, 12]);
        assert.deepEqual(sortedSeqs(await store.recordsAt(head.key, [1, 2, 3, 4, 5, 6])), [1, 3, 6]);
        const task = await store.read(alice, head.id);
        assert.ok(task !== undefined);
        assert.deepEqual([task.snapshot?.seq, sortedSeqs(task.records)], [9, [10, 11, 12]]);
        // Further, with other records to keep; what was dropped stays away.
        await store.compact(head.key, 9, [3, 8]);
        assert.deepEqual(sortedSeqs(await store.recordsAt(head.key, [1, 2, 3, 8, 9, 10])), [3, 8, 10]);
        await store.compact(head.key, 5, []);
        assert.equal(await store.recordsAfter(head.key, 8, 10), "compacted");
        assert.equal(await store.append(appendTo(head)), "stored");
      }),
    );
    it(
      "is dropped only as far as a snapshot includes it",
      withStore(make, async (store) => {
        const head = await store.create(newTask({ records: events(0, 3) }));
        await store.compact(head.key, 2, []);
        const answer = await store.recordsAfter(head.key, 0, 10);
        assert.ok(answer !== undefined && answer !== "compacted");
        assert.deepEqual(sortedSeqs(answer.records), [1, 2, 3]);
        await store.compact(4_711, 2, []);
      }),
    );
  });
}

function readTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("reading", () => {
    it(
      "gives the records behind the newest snapshot, or the whole log without one",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        for (const seq of [1, 2, 3]) {
          const snapshot = seq === 2 ? { task: taskAt(3), bytes: 50 } : undefined;
          await store.append(appendTo({ ...head, seq }, { snapshot }));
          const task = await store.read(alice, head.id);
          assert.ok(task !== undefined);
          assert.equal(task.snapshot?.seq, seq >= 2 ? 3 : undefined);
          assertWhole(task, events(0, seq + 1));
        }
      }),
    );
    it(
      "shows a task to its own scope only, and a foreign one like one that never was",
      withStore(make, async (store) => {
        const { id } = await store.create(newTask());
        for (const scope of [bob, foreign]) {
          assert.equal(await store.head(scope, id), undefined);
          assert.equal(await store.read(scope, id), undefined);
        }
        assert.equal(await store.read(alice, "none"), undefined);
      }),
    );
    it(
      "gives at most so many records behind a number, with the head of the same moment",
      withStore(make, async (store) => {
        const head = await store.create(newTask({ records: events(0, 10) }));
        const pages = { "0,3": [1, 2, 3], "3,3": [4, 5, 6], "8,3": [9, 10], "10,3": [], "99,3": [] };
        for (const [page, numbers] of Object.entries(pages)) {
          const [after = 0, limit = 0] = page.split(",").map(Number);
          const answer = await store.recordsAfter(head.key, after, limit);
          assert.ok(answer !== undefined && answer !== "compacted");
          assertRecords(
            answer.records,
            numbers.map((seq) => event(seq)),
          );
          assert.deepEqual(answer.head, head);
        }
        assert.equal(await store.recordsAfter(4_711, 0, 3), undefined);
      }),
    );
    it(
      "gives single records by their numbers",
      withStore(make, async (store) => {
        const head = await store.create(newTask({ records: events(0, 3) }));
        await store.append(appendTo(head, { records: events(3, 2) }));
        const numbers = async (...seqs: number[]) => sortedSeqs(await store.recordsAt(head.key, seqs));
        assert.deepEqual(await numbers(2, 5), [2, 5]);
        assert.deepEqual([await numbers(), await numbers(0, 6), await numbers(4, 4711)], [[], [], [4]]);
        assertRecords(await store.recordsAt(head.key, [4]), [event(4)]);
        assert.deepEqual(await store.recordsAt(4_711, [1]), []);
      }),
    );
    it(
      "gives the heads of those tasks that exist",
      withStore(make, async (store) => {
        const first = await store.create(newTask());
        const second = await store.create(newTask({ scope: bob }));
        const heads = await store.heads([second.key, 4_711, first.key]);
        assert.deepEqual(
          heads.toSorted((a, b) => a.key - b.key),
          [first, second],
        );
        assert.deepEqual(await store.heads([]), []);
      }),
    );
  });
}
