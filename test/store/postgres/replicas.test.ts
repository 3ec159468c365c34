import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Head, Store } from "../../../src/core/ports.js";
import { TaskState } from "../../../src/protocol/model.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { alice, appendTo, entry, events, newTask, readHead, status } from "../../../src/testing/contract/fixtures.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";

const { WORKING, COMPLETED } = TaskState;

let databases: StoreDatabase;
let stores: readonly [Store, Store];

describe.skipIf(!hasPostgres)("two processes on one PostgreSQL", () => {
  beforeAll(async () => {
    databases = await createStoreDatabase();
    const { url } = databases;
    stores = [postgresStore({ url }), postgresStore({ url })];
  }, startTimeoutMs);
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });

  it("two processes append to one task at the same time, and of each number one write is stored", async () => {
    const { key, id, scope } = await stores[0].create(newTask());
    for (let round = 0; round < 40; round += 1) {
      const head = await readHead(stores[0], { id, scope });
      const results = await Promise.all(stores.map((store) => store.append(appendTo(head))));
      expect(results.toSorted()).toEqual(["fenced", "stored"]);
    }
    const page = await stores[1].recordsAfter(key, 0, 1_000);
    if (page === undefined || page === "compacted") throw new Error("the log is gone");
    expect(page.records.map(({ seq }) => seq)).toEqual(Array.from({ length: 41 }, (_, index) => index + 1));
  });

  it("two processes flush many tasks at once, and a stale write is refused alone", async () => {
    const heads = await Promise.all(Array.from({ length: 100 }, () => stores[0].create(newTask())));
    const stale = [3, 50, 99];
    await Promise.all(stale.map((index) => stores[1].append(appendTo(at(heads, index)))));
    const results = await Promise.all(
      heads.map((head) => stores[0].append(appendTo(head, { records: events(head.seq, 3) }))),
    );
    expect(results.flatMap((result, index) => (result === "stored" ? [] : [[index, result]]))).toEqual(
      stale.map((index) => [index, "fenced"]),
    );
    const after = await stores[1].heads(heads.map(({ key }) => key));
    const seqs = new Map(after.map(({ key, seq }) => [key, seq]));
    expect(heads.map(({ key }) => seqs.get(key))).toEqual(heads.map((_, index) => (stale.includes(index) ? 2 : 4)));
  });

  it("two processes move the same owner's tasks in any order without a deadlock or miscount", async () => {
    const { server, url } = databases;
    const movers = [0, 1].map(() => postgresStore({ url: `${url}?application_name=mover`, hints: false }));
    const before = (await stores[0].list(alice, { limit: 1, state: COMPLETED })).total;
    const heads = await Promise.all(Array.from({ length: 60 }, () => stores[0].create(newTask())));
    const orders = [heads, heads.toReversed()];
    await Promise.all(movers.flatMap((store, index) => (orders[index] ?? []).map((head) => finish(store, head))));
    // Where both stores were refused in turn, one finishes the rest.
    for (const head of heads) await finish(stores[0], head);
    const { total } = await stores[1].list(alice, { limit: 1, state: COMPLETED });
    expect(total - before).toBe(60);
    const sums =
      "select sum(count)::int as counted, (select count(*)::int from trivium_tasks) as tasks from trivium_counts";
    const [row] = await server.query(sums, [], url);
    expect(row?.["counted"]).toBe(row?.["tasks"]);
    await Promise.all(movers.map((store) => store.close()));
    // PostgreSQL counts a connection's statistics once it has closed.
    const open = "select 1 from pg_stat_activity where application_name = 'mover'";
    await expect.poll(async () => (await server.query(open)).length).toBe(0);
    const deadlocks = "select sum(deadlocks)::int as n from pg_stat_database";
    expect(await server.query(deadlocks)).toEqual([{ n: 0 }]);
  });

  it("a process ends a task while another fills its inbox, and nothing waits for it afterwards", async () => {
    for (let round = 0; round < 40; round += 1) {
      const head = await stores[0].create(newTask());
      const end = appendTo(head, { ...status(COMPLETED, 2_000, 2), end: { inboxPut: 0 } });
      const [put, endResult] = await Promise.all([stores[1].put(head.key, entry("m"), 16), stores[0].append(end)]);
      expect(["stored", "ended"]).toContain(put);
      expect(endResult).toBe("stored");
      expect((await stores[1].inbox(head.key)).entries).toEqual([]);
    }
  });

  it("a write that waits for a task does not miss one that another process inserted meanwhile", async () => {
    const { server, url } = databases;
    const head = await stores[0].create(newTask());
    const { default: pg } = await import("pg");
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query("begin");
    await other.query("update trivium_tasks set inbox_put = 1 where key = $1", [head.key]);
    const values = [head.key, Buffer.alloc(0)];
    await other.query(
      "insert into trivium_inbox (key, ordinal, id, kind, format, payload) values ($1, 1, 'late', 'cancel', 1, $2)",
      values,
    );
    const end = stores[0].append(appendTo(head, { ...status(COMPLETED, 2_000, 2), end: { inboxPut: 0 } }));
    const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'trivium_tasks'";
    await expect.poll(async () => (await server.query(waits)).length).toBe(1);
    await other.query("commit");
    await other.end();
    expect(await end).toBe("stored");
    expect((await stores[0].inbox(head.key)).entries).toEqual([]);
  });

  it("two processes keep ids with characters that a database has no place for", async () => {
    const id = "nul \u0000, mark \uffff, \uffff0";
    const head = await stores[0].create(
      newTask({ id, contextId: id, name: id, holder: id, scope: { agent: "", tenant: id, owner: id } }),
    );
    const scope = { agent: "", tenant: id, owner: id };
    expect(await stores[1].head(scope, id)).toEqual(head);
    expect(await stores[1].taskNamed(scope, id)).toBe(id);
    expect((await stores[1].list(scope, { limit: 5, contextId: id })).tasks.map((task) => task.head)).toEqual([head]);
    expect(await stores[1].head(alice, "\u0000")).toBeUndefined();
  });
});

/** Ends a task unless another process is quicker. */
async function finish(store: Store, { id, scope }: Head): Promise<void> {
  for (const state of [WORKING, COMPLETED]) {
    const head = await readHead(store, { id, scope });
    if (head.state === COMPLETED) return;
    const later = status(state, head.statusTime + 1, head.seq + 1);
    await store.append(appendTo(head, { ...later, end: state === COMPLETED ? { inboxPut: 0 } : undefined }));
  }
}

function at(heads: readonly Head[], index: number): Head {
  const head = heads[index];
  if (head === undefined) throw new Error(`no head ${index}`);
  return head;
}
