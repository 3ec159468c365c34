import { expect, it } from "vitest";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { alice, newTask } from "../../../src/testing/contract/fixtures.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase } from "../../support/postgres-databases.js";
import { temporaryFolder } from "./temporary-folder.js";

// A lease is renewed whatever the callers of the process ask for at the same time.

it("the lease of a process on SQLite is renewed before the reads that wait", async () => {
  const store = sqliteStore({ path: `${await temporaryFolder()}/tasks.db`, synchronous: "NORMAL" });
  await Promise.all(Array.from({ length: 20 }, () => store.create(newTask())));
  let answered = 0;
  const reads = Array.from({ length: 1_000 }, async () => {
    await store.list(alice, { limit: 20 });
    answered++;
  });
  await store.renew("here", 60_000);
  expect(answered).toBeLessThan(500);
  await Promise.all(reads);
  expect(answered).toBe(1_000);
  await store.close();
});

it.skipIf(!hasPostgres)(
  "the lease of a process on PostgreSQL is renewed while reads hold all connections",
  async () => {
    const { url } = await createStoreDatabase();
    const store = postgresStore({ url, pool: { max: 2 }, hints: false });
    await store.open?.();
    const { default: pg } = await import("pg");
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query("begin");
    await other.query("lock table trivium_tasks in access exclusive mode");
    const reads = Array.from({ length: 20 }, () => store.list(alice, { limit: 20 }));
    await store.renew("here", 60_000);
    const unanswered = Symbol("unanswered");
    expect(await Promise.race([...reads, unanswered])).toBe(unanswered);
    await other.query("rollback");
    await other.end();
    await Promise.all(reads);
    await store.close();
  },
  startTimeoutMs,
);
