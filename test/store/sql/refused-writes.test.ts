import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { beforeAll, describe, expect, it } from "vitest";
import type { Store } from "../../../src/core/ports.js";
import { openPostgres } from "../../../src/store/postgres/database.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { alice, appendTo, events, newTask } from "../../../src/testing/contract/fixtures.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { appendRow, taskRow } from "./rows.js";
import { temporaryFolder } from "./temporary-folder.js";

let databases: StoreDatabase;

beforeAll(async () => {
  if (hasPostgres) databases = await createStoreDatabase();
}, startTimeoutMs);

/** A store whose database refuses tasks in the context `refused` and batches of five log rows. */
const refusing: Readonly<Record<string, () => Promise<Store>>> = {
  async SQLite() {
    const path = `${await temporaryFolder()}/tasks.db`;
    const store = sqliteStore({ path });
    await store.open?.();
    const database = new DatabaseSync(path);
    const rules = { tasks: "new.context_id = 'refused'", log: "new.count = 5" };
    for (const [table, rule] of Object.entries(rules)) {
      database.exec(`create trigger refuse_${table} before insert on trivium_${table} when ${rule}
        begin select raise(abort, 'no such ${table}'); end`);
    }
    database.close();
    return store;
  },
  async PostgreSQL() {
    await databases.clear();
    const rules = { tasks: "context_id <> 'refused'", log: "count <> 5" };
    for (const [table, rule] of Object.entries(rules)) {
      const change = `alter table trivium_${table} drop constraint if exists refuse_${table},
        add constraint refuse_${table} check (${rule})`;
      await databases.server.query(change, undefined, databases.url);
    }
    return postgresStore({ url: databases.url });
  },
};

describe.each(Object.entries(refusing))("on %s", (name, make) => {
  const test = it.skipIf(name === "PostgreSQL" && !hasPostgres);

  test("a write that the database refuses fails alone in its batch", async () => {
    const store = await make();
    const existing = await Promise.all(Array.from({ length: 6 }, () => store.create(newTask())));
    const [first, ...others] = existing;
    if (first === undefined) throw new Error("there is no task");
    const results = await Promise.allSettled<unknown>([
      ...others.map((head) => store.append(appendTo(head))),
      store.append(appendTo(first, { records: events(1, 5) })),
      ...Array.from({ length: 9 }, () => store.create(newTask())),
      store.create(newTask({ contextId: "refused" })),
      ...Array.from({ length: 9 }, () => store.create(newTask())),
    ]);
    const refused = results.flatMap(({ status }, context) => (status === "rejected" ? [context] : []));
    expect(refused).toEqual([others.length, others.length + 10]);
    for (const context of refused) expect(results[context]).toMatchObject({ reason: { failure: "other" } });
    expect((await store.list(alice, { limit: 1 })).total).toBe(6 + 18);
    expect((await store.head(alice, first.id))?.seq).toBe(1);
    const heads = await store.heads(others.map(({ key }) => key));
    expect(heads.map(({ seq }) => seq)).toEqual(others.map(() => 2));
    await store.close();
  });

  test("writes of one task that wait after a refused one keep their order", async () => {
    const store = await make();
    const head = await store.create(newTask());
    const results = await Promise.allSettled([
      store.create(newTask({ contextId: "refused" })),
      store.append(appendTo(head)),
      store.append(appendTo({ ...head, seq: 2 })),
      store.append(appendTo({ ...head, seq: 3 }, { records: events(3, 5) })),
      store.append(appendTo({ ...head, seq: 8 })),
    ]);
    expect(results.map((each) => (each.status === "fulfilled" ? each.value : "failed"))).toEqual([
      ...["failed", "stored", "stored", "failed", "fenced"],
    ]);
    expect((await store.head(alice, head.id))?.seq).toBe(3);
    await store.close();
  });
});

describe.skipIf(!hasPostgres)("an index of PostgreSQL", () => {
  it("an index of PostgreSQL that takes no entry so large fails its task alone", async () => {
    await databases.clear();
    const { backend } = openPostgres({ url: databases.url });
    const { key } = await backend.create(taskRow("known"));
    const owner = randomBytes(2_048).toString("hex");
    const results = await Promise.allSettled<unknown>([
      backend.append(appendRow({ key, epoch: 1, seq: 1 })),
      backend.create(taskRow("too large", { scope: { agent: "", tenant: "", owner } })),
      ...Array.from({ length: 12 }, (_, index) => backend.create(taskRow(`task ${index}`))),
    ]);
    const [appended, large, ...others] = results;
    expect(appended).toEqual({ status: "fulfilled", value: "stored" });
    expect(large).toMatchObject({ status: "rejected", reason: { code: "54000" } });
    expect(others.map(({ status }) => status)).toEqual(others.map(() => "fulfilled"));
    await backend.close();
  });
});
