import { sql } from "kysely";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { Store } from "../../../src/core/ports.js";
import { openPostgres, type PostgresDatabase } from "../../../src/store/postgres/database.js";
import { createSqlStore, type SqlStoreOptions } from "../../../src/store/sql/task-store.js";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { createTestClock, type TestClock } from "../../../src/testing/test-clock.js";
import { emptyTables } from "../../support/empty-tables.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase } from "../../support/postgres-databases.js";
import { tries } from "../../support/tries.js";

let connected: PostgresDatabase;
/** The same database without sessions, as through a pooler, and by its own clock. */
let pooled: PostgresDatabase;
let clock: TestClock;

/** A store over connections that the tests share: new ones take longer than most tests. */
async function emptied({ db, backend }: PostgresDatabase, options: SqlStoreOptions = {}): Promise<Store> {
  await sql.raw(emptyTables).execute(db);
  return createSqlStore({ ...backend, open: async () => {}, close: async () => {} }, options);
}

async function make() {
  clock = createTestClock();
  return { store: await emptied(connected, { clock }), advance: (ms: number) => clock.advance(ms) };
}

describe.skipIf(!hasPostgres)("on PostgreSQL", () => {
  beforeAll(async () => {
    // Nothing crashes here, so fsync is off.
    const { url } = await createStoreDatabase();
    connected = openPostgres({ url, pool: { max: 4 } }, () => clock.now());
    pooled = openPostgres({ url, sessions: false, pool: { max: 2 } });
  }, startTimeoutMs);
  afterAll(() => Promise.all([connected.backend.close(), pooled.backend.close()]));

  describe("the task store", () => {
    for (const { name, run } of taskStoreContract(make, { histories: tries(8, 20) })) it(name, run);
  });

  describe("the task store, by the clock of the database, through a pooler's eyes", () => {
    const make = async () => ({ store: await emptied(pooled) });
    for (const { name, run } of taskStoreContract(make, { histories: 5 })) it(name, run);
  });

  describe("the push store", () => {
    const makePush = async () => {
      const { store: tasks, advance } = await make();
      if (tasks.push === undefined) throw new Error("the storage keeps no push configurations");
      return { store: tasks.push, tasks, advance };
    };
    for (const { name, run } of pushStoreContract(makePush)) it(name, run);
  });
});
