import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AppendResult } from "../../../src/core/ports.js";
import { isTerminal } from "../../../src/protocol/states.js";
import { createKyselyBackend } from "../../../src/store/sql/kysely-backend.js";
import { createHotPath } from "../../../src/store/sqlite/flush.js";
import { openBackend } from "../sql/database.js";
import { alice, appendRow, completion, taskRow } from "../sql/rows.js";

let opened: Awaited<ReturnType<typeof openBackend>>;
let now: number;

beforeEach(async () => {
  now = 10_000;
  opened = await openBackend(":memory:", () => now);
});
afterEach(() => opened.backend.close());

function rowOf(key: number) {
  const columns = "epoch, holder, state, wake_at, finished_at, logged_at, turn, turn_seq";
  return opened.database.prepare(`select ${columns} from trivium_tasks where key = ?`).get(key);
}

describe("the hot path of SQLite", () => {
  it("a flush of SQLite marks a task as finished once, when it is terminal and has no holder", async () => {
    const { backend } = opened;
    const { key } = await backend.create(taskRow("t"));
    const { status, snapshot } = completion(2, 2_000);
    await backend.append(appendRow({ key, epoch: 1, seq: 1 }, { status, snapshot }));
    expect(rowOf(key)).toMatchObject({ state: 3, holder: "here", finished_at: null, logged_at: null });
    now = 11_000;
    await backend.append(appendRow({ key, epoch: 1, seq: 2 }, { end: { inboxPut: 0 } }));
    expect(rowOf(key)).toMatchObject({ holder: "", finished_at: 11_000, logged_at: 11_000 });
    now = 12_000;
    const late = { claim: { holder: "there", turn: 2 }, end: { inboxPut: 0 } };
    await backend.append(appendRow({ key, epoch: 1, seq: 3 }, late));
    expect(rowOf(key)).toMatchObject({ epoch: 2, finished_at: 11_000, logged_at: 11_000 });
  });

  it("a flush of SQLite parks a task until its time, and takes the time back when it is claimed or ends", async () => {
    const { backend } = opened;
    const { key } = await backend.create(taskRow("t", { end: { inboxPut: 0, park: { wakeAt: 10_500 } } }));
    expect(await backend.due("", 5)).toEqual([]);
    now = 10_500;
    expect(await backend.due("", 5)).toMatchObject([{ key, wakeAt: 10_500, holder: "" }]);
    const claim = { claim: { holder: "there", turn: 2 }, turnSeq: 2 };
    await backend.append(appendRow({ key, epoch: 1, seq: 1 }, claim));
    expect(rowOf(key)).toMatchObject({ wake_at: null, epoch: 2, holder: "there", turn: 2, turn_seq: 2 });
    expect(await backend.due("", 5)).toEqual([]);
    const { status, snapshot } = completion(3, 2_000);
    const end = { inboxPut: 0, park: { wakeAt: 1 } };
    await backend.append(appendRow({ key, epoch: 2, seq: 2 }, { status, snapshot, end }));
    expect(rowOf(key)).toMatchObject({ wake_at: null, holder: "" });
  });

  it("a flush of SQLite reports which id or name is taken, and continues", async () => {
    const { backend } = opened;
    await backend.create(taskRow("t", { name: "trip" }));
    await expect(backend.create(taskRow("t"))).rejects.toThrow("a task with the id t exists");
    await expect(backend.create(taskRow("u", { name: "trip" }))).rejects.toThrow('a task with the name "trip" exists');
    await backend.create(taskRow("u", { name: "other" }));
    expect((await backend.list(alice, { limit: 5 })).total).toBe(2);
  });

  it("a flush of SQLite is part of the surrounding transaction, and is rolled back with it", async () => {
    const { backend, db, context, connection } = opened;
    const { key } = await backend.create(taskRow("t"));
    const undone = db.transaction().execute(async (transaction) => {
      const hot = createHotPath(connection, () => now);
      const within = createKyselyBackend({ db: transaction, dialect: context.dialect, hot });
      await within.create(taskRow("u"));
      expect(await within.append(appendRow({ key, epoch: 1, seq: 1 }))).toBe("stored");
      const entry = { id: "e", kind: "cancel" as const, format: 1, bytes: new Uint8Array() };
      expect(await within.put(key, entry, 16)).toBe("stored");
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    expect(await backend.head(alice, "u")).toBeUndefined();
    expect(await backend.head(alice, "t")).toMatchObject({ seq: 1, inboxPut: 0 });
    expect((await backend.list(alice, { limit: 5 })).total).toBe(1);
  });
});

describe("the counters", () => {
  const step = fc.record({
    task: fc.nat(4),
    owner: fc.constantFrom("alice", "bob"),
    state: fc.integer({ min: 1, max: 8 }),
    end: fc.boolean(),
    prune: fc.boolean(),
  });

  it("the counters equal the stored tasks, whatever was written, refused and dropped", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { backend, database } = await openBackend(":memory:", () => now);
        const places = new Map<number, { key: number; epoch: number; seq: number; state: number }>();
        for (const { task, owner, state, end, prune } of steps) {
          now += 1;
          const context = places.get(task);
          const change = { status: { state, time: now }, end: end ? { inboxPut: 0 } : undefined };
          if (context === undefined) {
            const row = taskRow(`${task} at ${now}`, { scope: { agent: "", tenant: "", owner }, ...change });
            places.set(task, { ...(await backend.create(row)), state });
          } else if (!isTerminal(context.state)) {
            const stale = appendRow({ ...context, seq: context.seq + 7 }, change);
            expect(await backend.append(stale)).toBe<AppendResult>("fenced");
            expect(await backend.append(appendRow(context, change))).toBe<AppendResult>("stored");
            places.set(task, { ...context, seq: context.seq + 1, state });
          } else {
            places.delete(task);
          }
          if (prune) {
            await backend.prune({ tasksMs: 2, tasksMax: undefined, logsMs: undefined, sendsMs: 1 }, 3);
          }
        }
        const counted =
          "select tenant, owner, state, sum(count) as n from trivium_counts group by 1, 2, 3 having n <> 0";
        const real = "select tenant, owner, state, count(*) as n from trivium_tasks group by 1, 2, 3";
        expect(database.prepare(`${counted} order by 1, 2, 3`).all()).toEqual(
          database.prepare(`${real} order by 1, 2, 3`).all(),
        );
        await backend.close();
      }),
      { numRuns: 40 },
    );
  });
});
