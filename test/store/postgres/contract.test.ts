import { afterAll, beforeAll, describe, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../src/store/postgres/database.js";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { createTestClock, type TestClock } from "../../../src/testing/test-clock.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase } from "../../support/postgres-databases.js";
import { tries } from "../../support/tries.js";
import { emptied } from "./contract-setup.js";

let connected: PostgresDatabase;
let clock: TestClock;

async function make() {
  clock = createTestClock();
  return { store: await emptied(connected, { clock }), advance: (ms: number) => clock.advance(ms) };
}

describe.skipIf(!hasPostgres)("on PostgreSQL", () => {
  beforeAll(async () => {
    // Nothing crashes here, so fsync is off.
    const { url } = await createStoreDatabase();
    connected = openPostgres({ url, pool: { max: 4 } }, () => clock.now());
  }, startTimeoutMs);
  afterAll(() => connected.backend.close());

  describe("the task store", () => {
    for (const { name, run } of taskStoreContract(make, { histories: tries(8, 20) })) it(name, run);
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
