import assert from "node:assert/strict";
import { toBinary } from "@bufbuild/protobuf";
import type { NewSend, SentOutcome } from "../../core/ports.js";
import { MessageSchema } from "../../protocol/model.js";
import { alice, appendTo, bob, entry, foreign, message, newTask, readHead } from "./fixtures.js";
import { type MakeTaskStore, type Suite, withStore } from "./suite.js";

const ttlMs = 400;
const long = 60_000;
const toTask: SentOutcome = { kind: "task" };

let lastId = 0;

/** A send of alice's that starts a task, held by `here`. */
function newSend(changes: Partial<NewSend> = {}): NewSend {
  lastId += 1;
  const ids = { messageId: `message-${lastId}`, entry: `entry-${lastId}`, taskId: `planned-${lastId}` };
  return { scope: alice, digest: "0a1b", seq: 0, instance: "here", ...ids, ...changes };
}

/** Records of idempotent sends. */
export function sendTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("the record of a send", () => {
    it(
      "is what was begun, at attempt 1 and without an outcome",
      withStore(make, async (store) => {
        await store.renew("here", long);
        const send = newSend({ seq: 7 });
        const record = { ...send, attempt: 1, live: true, outcome: undefined };
        assert.deepEqual(await store.beginSend(send), record);
        assert.deepEqual(await store.readSend(alice, send.messageId), record);
      }),
    );
    it(
      "stays when another send begins with the same message id, also one of the same moment",
      withStore(make, async (store) => {
        const first = newSend();
        const second = newSend({ messageId: first.messageId, digest: "other", instance: "there" });
        const [one, two] = await Promise.all([store.beginSend(first), store.beginSend(second)]);
        // Either may come first.
        assert.ok([first.entry, second.entry].includes(one.entry));
        assert.deepEqual(two, one);
        for (const send of [first, second]) assert.deepEqual(await store.beginSend(send), one);
      }),
    );
    it(
      "belongs to its scope",
      withStore(make, async (store) => {
        const send = newSend();
        await store.beginSend(send);
        for (const scope of [bob, foreign]) {
          assert.equal(await store.readSend(scope, send.messageId), undefined);
          const other = newSend({ messageId: send.messageId, scope });
          assert.equal((await store.beginSend(other)).entry, other.entry);
        }
        assert.equal((await store.readSend(alice, send.messageId))?.entry, send.entry);
      }),
    );
    it(
      "says whether its instance lives",
      withStore(make, async (store, advance) => {
        const send = newSend();
        assert.equal((await store.beginSend(send)).live, false);
        await store.renew("here", ttlMs);
        assert.equal((await store.readSend(alice, send.messageId))?.live, true);
        await advance(ttlMs + 1);
        assert.equal((await store.readSend(alice, send.messageId))?.live, false);
        await store.renew("here", long);
        await store.retire("here");
        assert.equal((await store.readSend(alice, send.messageId))?.live, false);
      }),
    );
  });
  takingTests({ describe, it }, make);
  outcomeTests({ describe, it }, make);
  fenceTests({ describe, it }, make);
}

function takingTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("taking a send", () => {
    it(
      "raises its attempt and names the new instance, and keeps all else",
      withStore(make, async (store) => {
        await store.renew("there", long);
        const record = await store.beginSend(newSend());
        assert.equal(await store.takeSend(record, "there"), true);
        const takenRecord = { ...record, attempt: 2, instance: "there", live: true };
        assert.deepEqual(await store.readSend(alice, record.messageId), takenRecord);
        assert.equal(await store.takeSend(takenRecord, ""), true);
        const free = { ...record, attempt: 3, instance: "", live: false };
        assert.deepEqual(await store.readSend(alice, record.messageId), free);
      }),
    );
    it(
      "succeeds for one of several that try at once",
      withStore(make, async (store) => {
        const record = await store.beginSend(newSend());
        const takes = await Promise.all(["a", "b", "c"].map((instance) => store.takeSend(record, instance)));
        assert.equal(takes.filter((each) => each).length, 1);
        assert.equal((await store.readSend(alice, record.messageId))?.attempt, 2);
      }),
    );
    it(
      "has no effect for another attempt, another entry, an unknown message, or behind an outcome",
      withStore(make, async (store) => {
        const record = await store.beginSend(newSend());
        assert.equal(await store.takeSend({ ...record, attempt: 2 }, "there"), false);
        assert.equal(await store.takeSend({ ...record, entry: "other" }, "there"), false);
        assert.equal(await store.takeSend({ ...record, messageId: "other" }, "there"), false);
        assert.equal(await store.takeSend({ ...record, scope: bob }, "there"), false);
        assert.deepEqual(await store.readSend(alice, record.messageId), record);
        await store.settleSend(record, toTask, 0);
        assert.equal(await store.takeSend(record, "there"), false);
        assert.deepEqual(await store.readSend(alice, record.messageId), { ...record, outcome: toTask });
      }),
    );
  });
}

function outcomeTests({ describe, it }: Suite, make: MakeTaskStore): void {
  const error = {
    code: "invalidParams",
    message: "no",
    violations: [{ field: "message", description: "is wrong" }],
    metadata: { a: "b" },
    retryAfterMs: undefined,
  } as const;
  describe("the outcome of a send", () => {
    it(
      "is kept as it was given: a task, a reply, or an error",
      withStore(make, async (store) => {
        const outcomes: SentOutcome[] = [
          toTask,
          { kind: "reply", message: message("r") },
          { kind: "error", error },
          { kind: "error", error: { ...error, violations: [], metadata: {}, retryAfterMs: 5 } },
          { kind: "error", error: { ...error, reason: "BERTH_TAKEN", domain: "harbour.example" } },
        ];
        for (const outcome of outcomes) {
          const record = await store.beginSend(newSend());
          assert.equal(await store.settleSend(record, outcome, 100), true);
          assert.deepEqual(
            plainOutcome((await store.readSend(alice, record.messageId))?.outcome),
            plainOutcome(outcome),
          );
        }
      }),
    );
    it(
      "stays as it was first settled, which is no failure",
      withStore(make, async (store) => {
        const record = await store.beginSend(newSend());
        assert.equal(await store.settleSend(record, { kind: "error", error }, 10), true);
        assert.equal(await store.settleSend(record, toTask, 0), true);
        assert.deepEqual((await store.readSend(alice, record.messageId))?.outcome, { kind: "error", error });
      }),
    );
    it(
      "is not settled by a process that has lost the record",
      withStore(make, async (store) => {
        const record = await store.beginSend(newSend());
        await store.takeSend(record, "there");
        assert.equal(await store.settleSend(record, toTask, 0), false);
        assert.equal(await store.forgetSend(record), false);
        assert.equal((await store.readSend(alice, record.messageId))?.outcome, undefined);
      }),
    );
    it(
      "goes when the record is forgotten, and the message id is free again",
      withStore(make, async (store) => {
        const record = await store.beginSend(newSend());
        await store.settleSend(record, toTask, 0);
        assert.equal(await store.forgetSend({ ...record, entry: "other" }), false);
        assert.equal(await store.forgetSend(record), true);
        assert.equal(await store.forgetSend(record), false);
        assert.equal(await store.readSend(alice, record.messageId), undefined);
        const nextSend = newSend({ messageId: record.messageId });
        assert.equal((await store.beginSend(nextSend)).entry, nextSend.entry);
        assert.equal(await store.settleSend(record, toTask, 0), false);
      }),
    );
  });
}

function fenceTests({ describe, it }: Suite, make: MakeTaskStore): void {
  describe("an entry with a fence", () => {
    it(
      "is put as long as epoch and count of the inbox are as they were seen",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        assert.equal(await store.put(head.key, entry("m1"), 16, head), "stored");
        assert.equal(await store.put(head.key, entry("m2"), 16, head), "moved");
        assert.equal(await store.put(head.key, entry("m2"), 16, await readHead(store, head)), "stored");
        const { entries, inboxPut } = await store.inbox(head.key);
        assert.deepEqual([entries.map(({ id }) => id), inboxPut], [["m1", "m2"], 2]);
      }),
    );
    it(
      "is not put once the task was claimed anew, though it has no holder any more",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        await store.append(appendTo(head, { claim: { holder: "there", turn: 2 } }));
        assert.equal(await store.put(head.key, entry("m"), 16, head), "moved");
        await store.append(appendTo(await readHead(store, head), { end: { inboxPut: 0 } }));
        assert.equal(await store.put(head.key, entry("m"), 16, head), "moved");
        assert.equal(await store.put(head.key, entry("m"), 16, await readHead(store, head)), "idle");
        assert.deepEqual((await store.inbox(head.key)).entries, []);
      }),
    );
    it(
      "is put once when several bring it at the same time",
      withStore(make, async (store) => {
        const head = await store.create(newTask());
        const results = await Promise.all([1, 2, 3].map((each) => store.put(head.key, entry(`m${each}`), 16, head)));
        assert.deepEqual(results.toSorted(), ["moved", "moved", "stored"]);
      }),
    );
  });
}

/** Returns an outcome in a form that compares equal after a store encodes it. */
function plainOutcome(outcome: SentOutcome | undefined) {
  return outcome?.kind === "reply" ? toBinary(MessageSchema, outcome.message) : outcome;
}
