import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openBackend } from "./database.js";
import { alice, appendRow, completion, logRow, taskRow } from "./rows.js";

const keep = { tasksMs: undefined, tasksMax: undefined, logsMs: undefined, sendsMs: 1e9 };

let opened: Awaited<ReturnType<typeof openBackend>>;
let now: number;

beforeEach(async () => {
  now = 10_000;
  opened = await openBackend(":memory:", () => now);
});
afterEach(() => opened.backend.close());

/** Creates a finished task with this many records. */
async function createFinished(id: string, records = 3): Promise<number> {
  const { backend } = opened;
  const { key } = await backend.create(taskRow(id));
  for (let seq = 1; seq < records - 1; seq += 1) await backend.append(appendRow({ key, epoch: 1, seq }));
  const last = appendRow({ key, epoch: 1, seq: records - 1 }, completion(records, now));
  expect(await backend.append(last)).toBe("stored");
  return key;
}

function countOf(table: string, key: number): number {
  return Number(opened.database.prepare(`select count(*) as n from ${table} where key = ?`).get(key)?.["n"]);
}

async function ids(): Promise<string[]> {
  const { tasks } = await opened.backend.list(alice, { limit: 100 });
  return tasks.map(({ head }) => head.id).toSorted();
}

describe("pruning", () => {
  it("pruning drops finished tasks after their retention, with all their rows", async () => {
    const { backend } = opened;
    const old = await createFinished("old");
    const config = { key: old, id: "p", taskId: "old", scope: alice, cursor: 0, version: "1.0", taskName: undefined };
    await backend.push.set({ ...config, holder: "here", ...logRow(1) }, 3);
    await backend.create(taskRow("running"));
    now += 1_000;
    await createFinished("young");
    expect(await backend.prune({ ...keep, tasksMs: 1_000 }, 100)).toEqual({
      tasks: 1,
      logs: 3,
      entries: 0,
      more: false,
    });
    expect(await ids()).toEqual(["running", "young"]);
    for (const table of ["log", "snapshots", "push_configs", "inbox"]) expect(countOf(`trivium_${table}`, old)).toBe(0);
    expect((await backend.list(alice, { limit: 1, state: 3 })).total).toBe(1);
  });

  it("pruning drops the excess, the oldest first, and never an unfinished task", async () => {
    await opened.backend.create(taskRow("running"));
    for (const id of ["a", "b", "c", "d"]) {
      now += 1;
      await createFinished(id);
    }
    expect(await opened.backend.prune({ ...keep, tasksMax: 2 }, 100)).toMatchObject({ tasks: 2, more: false });
    expect(await ids()).toEqual(["c", "d", "running"]);
    expect(await opened.backend.prune({ ...keep, tasksMax: 2 }, 100)).toMatchObject({ tasks: 0 });
  });

  it("pruning keeps a finished task readable when its log is dropped, and reports the log as dropped", async () => {
    const { backend } = opened;
    const key = await createFinished("done", 4);
    now += 500;
    expect(await backend.prune({ ...keep, logsMs: 501 }, 100)).toEqual({ tasks: 0, logs: 0, entries: 0, more: false });
    expect(await backend.prune({ ...keep, logsMs: 500 }, 100)).toEqual({ tasks: 0, logs: 4, entries: 0, more: false });
    expect(await backend.recordsAfter(key, 3, 10)).toBe("compacted");
    expect(await backend.recordsAfter(key, 4, 10)).toMatchObject({ log: [] });
    expect(await backend.read(alice, "done")).toMatchObject({ snapshot: { seq: 4 }, log: [] });
    expect(await backend.prune({ ...keep, logsMs: 0 }, 100)).toEqual({ tasks: 0, logs: 0, entries: 0, more: false });
  });

  it("pruning drops a long log in small steps, and the task stays readable after each", async () => {
    const { backend } = opened;
    const key = await createFinished("long", 25);
    const steps = [];
    for (let more = true; more; ) {
      const step = await backend.prune({ ...keep, logsMs: 0 }, 10);
      steps.push(step.logs);
      more = step.more;
      expect(await backend.read(alice, "long")).toMatchObject({ snapshot: { seq: 25 }, log: [] });
      const total = steps.reduce((sum, rows) => sum + rows, 0);
      if (total > 0) expect(await backend.recordsAfter(key, total - 1, 5)).toBe("compacted");
      expect(await backend.recordsAfter(key, total, 50)).toMatchObject({ head: { seq: 25 } });
    }
    expect(steps.filter((rows) => rows > 0)).toEqual([10, 10, 5]);
    for (let more = true; more; ) ({ more } = await backend.prune({ ...keep, tasksMs: 0 }, 10));
    expect(await backend.read(alice, "long")).toBeUndefined();
  });

  it("pruning drops sends after their retention", async () => {
    const { backend } = opened;
    const send = { scope: alice, entry: "e", digest: "d", taskId: "t", seq: 0, instance: "here" };
    await backend.beginSend({ ...send, messageId: "old" });
    now += 100;
    await backend.beginSend({ ...send, messageId: "young" });
    await backend.prune({ ...keep, sendsMs: 100 }, 10);
    expect(await backend.readSend(alice, "old")).toBeUndefined();
    expect(await backend.readSend(alice, "young")).toMatchObject({ entry: "e" });
  });

  it("pruning gives no number of a dropped task to another", async () => {
    const key = await createFinished("last");
    await opened.backend.prune({ ...keep, tasksMs: 0 }, 10);
    expect((await opened.backend.create(taskRow("next"))).key).toBeGreaterThan(key);
  });
});
