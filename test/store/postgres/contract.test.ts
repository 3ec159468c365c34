import { beforeAll, describe, it } from "vitest";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import type { PushSubject } from "../../../src/testing/contract/suite.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { tries } from "../../support/tries.js";

let databases: StoreDatabase;

async function emptied(): Promise<string> {
  await databases.clear();
  return databases.url;
}

describe.skipIf(!hasPostgres)("on PostgreSQL", () => {
  beforeAll(async () => {
    // Nothing crashes here, so fsync is off.
    databases = await createStoreDatabase();
  }, startTimeoutMs);

  describe("the task store", () => {
    const make = async () => {
      const clock = createTestClock();
      const store = postgresStore({ url: await emptied(), clock, pool: { max: 4 } });
      return { store, advance: (ms: number) => clock.advance(ms) };
    };
    for (const { name, run } of taskStoreContract(make, { histories: tries(8, 20) })) it(name, run);
  });

  describe("the task store, by the clock of the database, through a pooler's eyes", () => {
    const make = async () => {
      return { store: postgresStore({ url: await emptied(), sessions: false, pool: { max: 2 } }) };
    };
    for (const { name, run } of taskStoreContract(make, { histories: 5 })) it(name, run);
  });

  describe("the push store", () => {
    const make = async (): Promise<PushSubject> => {
      const clock = createTestClock();
      const tasks = postgresStore({ url: await emptied(), clock, pool: { max: 4 } });
      if (tasks.push === undefined) throw new Error("the storage keeps no push configurations");
      return { store: tasks.push, tasks, advance: (ms: number) => clock.advance(ms) };
    };
    for (const { name, run } of pushStoreContract(make)) it(name, run);
  });
});
