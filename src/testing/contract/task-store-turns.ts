import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import type { DueCursor, Head, LogRecord, TaskStore } from "../../core/ports.js";
import { SendMessageConfigurationSchema, TaskState } from "../../protocol/model.js";
import {
  appendTo,
  assertRecords,
  entry,
  event,
  message,
  newTask,
  plainEntry,
  readHead,
  status,
  tracePlace,
} from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const { WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;

/** How turns begin, their inputs, and tasks parked between turns. */
export function turnTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a turn", () => {
    it(
      "is found in the log by its head, whatever was written since",
      withStore(make, async (store) => {
        const head = await store.create(newTask({ records: [turnStart(1, 1), messageRecord(2, "m1"), event(3)] }));
        assert.deepEqual([head.turn, head.turnSeq], [1, 1]);
        await store.append(appendTo(head));
        assert.equal((await readHead(store, head)).turnSeq, 1);
        const records = [event(5), turnStart(6, 2), messageRecord(7, "m2")];
        await store.append(appendTo({ ...head, seq: 4 }, { records, claim: { holder: "there", turn: 2 } }));
        const { turn, turnSeq } = await readHead(store, head);
        assert.deepEqual([turn, turnSeq], [2, 6]);
        assert.deepEqual((await store.read(head.scope, head.id))?.head.turnSeq, 6);
      }),
    );
    it(
      "that a log says nothing of begins nowhere",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        assert.deepEqual([head.turn, head.turnSeq, head.wakeAt], [1, 0, undefined]);
        const claim = { holder: "there", turn: 2 };
        await store.append(appendTo(head, { ...status(COMPLETED, 9, 2), claim, end: { inboxPut: 0 } }));
        assert.equal((await readHead(store, head)).turnSeq, 0);
      }),
    );
    it(
      "keeps what its send said, what its wake brought, and the traces of both",
      withStore(make, async (store) => {
        const configuration = create(SendMessageConfigurationSchema, {
          acceptedOutputModes: ["text/plain"],
          historyLength: 3,
          returnImmediately: true,
        });
        const metadata = { trace: "t", deep: { list: [1, null, "x"] } };
        const principal = { scheme: "user", scopes: ["read"], claims: { team: "north" } };
        const records: LogRecord[] = [
          turnStart(1, 1),
          {
            ...messageRecord(2, "m1"),
            context: { configuration, metadata, extensions: ["urn:x", "urn:y"], principal },
          },
          {
            ...messageRecord(3, "m2"),
            context: { configuration: undefined, metadata: undefined, extensions: ["urn:x"], trace: tracePlace },
          },
          { ...turnStart(4, 2, "wake"), wake: { paid: true, items: ["a", { b: 2.5 }] } },
          { ...turnStart(5, 3, "wake"), wake: null, trace: tracePlace },
          {
            ...turnStart(6, 3, "restart"),
            attempt: 2,
            wake: null,
            message: 2,
            trace: { traceparent: tracePlace.traceparent },
          },
          { kind: "turnReleased", seq: 7 },
          turnStart(8, 4, "wake"),
          { kind: "turnParked", seq: 9 },
        ];
        const head = await store.create(newTask({ records }));
        const page = await store.recordsAfter(head.key, 0, 10);
        assert.ok(page !== undefined && page !== "compacted");
        assertRecords(page.records, records);
      }),
    );
    it(
      "is left what a wake brings while it runs",
      withStore(make, async (store) => {
        const { key } = await store.create(newTask());
        const wake = { ...entry("w", "wake"), wake: { paid: [true, 1, "x", null] } };
        assert.equal(await store.put(key, wake, 16), "stored");
        assert.equal(await store.put(key, { ...entry("v", "wake"), wake: "later" }, 16), "stored");
        assert.deepEqual((await store.inbox(key)).entries.map(plainEntry), [plainEntry(wake)]);
      }),
    );
  });
  parkTests({ describe, it }, make);
}

function parkTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("parking", () => {
    it(
      "leaves the task as it is, without a holder, and says when to wake it",
      withStore(make, async (store) => {
        const head = await store.create(newTask(working));
        assert.equal(await store.append(appendTo(head, { end: { inboxPut: 0, park: { wakeAt: farTime } } })), "stored");
        const parkedHead = { ...head, seq: 2, holder: "", wakeAt: farTime };
        assert.deepEqual(await readHead(store, head), parkedHead);
        assert.deepEqual(await store.heads([head.key]), [parkedHead]);
        assert.equal(await store.put(head.key, entry("w", "wake"), 16), "idle");
        assert.deepEqual(await store.orphans("", 10), []);
      }),
    );
    it(
      "takes no record, and may wait for no time at all",
      withStore(make, async (store) => {
        const head = await store.create(newTask(working));
        const end = { inboxPut: 0, park: { wakeAt: undefined } };
        assert.equal(await store.append(appendTo(head, { records: [], bytes: 0, end })), "stored");
        assert.deepEqual(await readHead(store, head), { ...head, holder: "" });
        assert.deepEqual(await store.due("", 10), []);
      }),
    );
    it(
      "is refused when something was put into the inbox since",
      withStore(make, async (store) => {
        const head = await store.create(newTask(working));
        await store.put(head.key, entry("w", "wake"), 16);
        const before = await readHead(store, head);
        assert.equal(await store.append(park(head, 1)), "inboxMoved");
        assert.deepEqual(await readHead(store, head), before);
        assert.deepEqual(await store.due("", 10), []);
      }),
    );
    it(
      "is over with the next turn, and with the end of the task",
      withStore(make, async (store) => {
        const tasks = [await store.create(newTask(working)), await store.create(newTask(working))] as const;
        for (const head of tasks) await store.append(park(head, 1));
        assert.equal((await store.due("", 10)).length, 2);
        const [wokenTask, canceledTask] = tasks;
        const claim = { holder: "there", turn: 2 };
        await store.append(appendTo({ ...wokenTask, seq: 2 }, { records: [turnStart(3, 2, "wake")], claim }));
        const end = { ...status(TaskState.CANCELED, 9, 3), claim, end: { inboxPut: 0, park: { wakeAt: 1 } } };
        await store.append(appendTo({ ...canceledTask, seq: 2 }, end));
        assert.deepEqual(await store.due("", 10), []);
        for (const head of tasks) assert.equal((await readHead(store, head)).wakeAt, undefined);
      }),
    );
    it(
      "is over when the task ends, also by a write that ends no turn",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        await store.append(park(head, 1));
        await store.append(appendTo({ ...head, seq: 2 }, status(TaskState.FAILED, 9, 3)));
        assert.equal((await readHead(store, head)).wakeAt, undefined);
        assert.deepEqual(await store.due("", 10), []);
      }),
    );
    it(
      "in a turn that ends without it says no time",
      withStore(make, async (store) => {
        const head = await store.create(newTask(working));
        await store.append(park(head, 1));
        const claim = { holder: "here", turn: 2 };
        const again = { ...status(INPUT_REQUIRED, 9, 3), claim, end: { inboxPut: 0 } };
        assert.equal(await store.append(appendTo({ ...head, seq: 2 }, again)), "stored");
        assert.equal((await readHead(store, head)).wakeAt, undefined);
        assert.deepEqual(await store.due("", 10), []);
      }),
    );
  });
  dueTests({ describe, it }, make);
}

function dueTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("a parked task", () => {
    it(
      "is due from its time on: the earliest first, at most as many as asked for",
      withStore(make, async (store) => {
        const times = [30, farTime, 10, 20, undefined, 20];
        const ids = [];
        for (const wakeAt of times) ids.push(await createParked(store, wakeAt));
        const due = await store.due("", 10);
        assert.deepEqual(
          due.map(({ wakeAt }) => wakeAt),
          [10, 20, 20, 30],
        );
        assert.deepEqual([due[0]?.id, due[3]?.id], [ids[2], ids[0]]);
        assert.ok(due.every(({ holder, state }) => holder === "" && state === WORKING));
        assert.deepEqual(
          (await store.due("", 2)).map(({ wakeAt }) => wakeAt),
          [10, 20],
        );
      }),
    );
    it(
      "is due in pages, each behind the one before, also when several tasks have one time and some have been woken since",
      withStore(make, async (store) => {
        const ids: string[] = [];
        for (const wakeAt of [20, -5, 20, 20, 30, 20, farTime]) ids.push(await createParked(store, wakeAt));
        const whole = await store.due("", 10);
        assert.deepEqual(
          whole.map(({ id }) => id),
          [1, 0, 2, 3, 5, 4].map((index) => ids[index]),
        );
        const [first, second, third, ...rest] = whole;
        assert.ok(first !== undefined && second !== undefined && third !== undefined);
        assert.deepEqual(await store.due("", 2, place(first)), [second, third]);
        await store.append(
          appendTo(third, { records: [turnStart(3, 2, "wake")], claim: { holder: "there", turn: 2 } }),
        );
        assert.deepEqual(await store.due("", 10, place(third)), rest);
        assert.deepEqual(await store.due("", 10, { wakeAt: 25, key: 0 }), rest.slice(-1));
        assert.deepEqual(await store.due("", 10, place(rest.at(-1))), []);
      }),
    );
  });
}

const working = { status: { state: WORKING, time: 1_000 } };
function place(head: Head | undefined): DueCursor {
  assert.ok(head?.wakeAt !== undefined);
  return { wakeAt: head.wakeAt, key: head.key };
}

/** A time that no test reaches. */
const farTime = Date.UTC(9999, 0, 1);

function park(head: Parameters<typeof appendTo>[0], wakeAt: number | undefined) {
  return appendTo(head, { end: { inboxPut: 0, park: { wakeAt } } });
}

async function createParked(store: TaskStore, wakeAt: number | undefined): Promise<string> {
  const head = await store.create(newTask(working));
  await store.append(park(head, wakeAt));
  return head.id;
}

type Cause = (LogRecord & { readonly kind: "turnStarted" })["cause"];

function turnStart(seq: number, turn: number, cause: Cause = "message"): LogRecord & { readonly kind: "turnStarted" } {
  return { kind: "turnStarted", seq, turn, attempt: 1, cause };
}

function messageRecord(seq: number, id: string): LogRecord & { readonly kind: "message" } {
  return { kind: "message", seq, message: message(id), entry: id };
}
