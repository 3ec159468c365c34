import { afterAll, beforeAll, describe, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../src/store/postgres/database.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase } from "../../support/postgres-databases.js";
import { emptied } from "./contract-setup.js";

// What contract.test.ts tests, without sessions, as through a pooler, and by the database's own clock.

let pooled: PostgresDatabase;

describe.skipIf(!hasPostgres)("on PostgreSQL", () => {
  beforeAll(async () => {
    const { url } = await createStoreDatabase();
    pooled = openPostgres({ url, sessions: false, pool: { max: 2 } });
  }, startTimeoutMs);
  afterAll(() => pooled.backend.close());

  describe("the task store, by the clock of the database, through a pooler's eyes", () => {
    const make = async () => ({ store: await emptied(pooled) });
    for (const { name, run } of taskStoreContract(make, { histories: 5 })) it(name, run);
  });
});
