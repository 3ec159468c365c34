import { afterAll, beforeAll, describe, it } from "vitest";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { tries } from "../../support/tries.js";
import { type ContractStores, contractStores } from "./contract-setup.js";

// What contract.test.ts tests, without sessions, as through a pooler, and by the database's own clock.

let pooled: ContractStores;

describe.skipIf(!hasPostgres)("on PostgreSQL", { concurrent: true }, () => {
  beforeAll(async () => {
    pooled = await contractStores({ clockOf: "database", sessions: false, pool: { max: 2 } });
  }, startTimeoutMs);
  afterAll(() => pooled[Symbol.asyncDispose]());

  describe("the task store, by the clock of the database, through a pooler's eyes", () => {
    const make = async () => ({ store: (await pooled.make()).store });
    for (const { name, run } of taskStoreContract(make, { histories: tries(3, 20) })) it(name, run);
  });
});
