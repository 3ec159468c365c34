import { afterAll, beforeAll, describe, it } from "vitest";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { tries } from "../../support/tries.js";
import { type ContractStores, contractStores } from "./contract-setup.js";

let stores: ContractStores;

async function make() {
  const { store, clock } = await stores.make();
  return { store, advance: (ms: number) => clock.advance(ms) };
}

describe.skipIf(!hasPostgres)("on PostgreSQL", { concurrent: true }, () => {
  beforeAll(async () => {
    // Nothing crashes here, so fsync is off.
    stores = await contractStores({ clockOf: "test", pool: { max: 4 } });
  }, startTimeoutMs);
  afterAll(() => stores[Symbol.asyncDispose]());

  describe("the task store", () => {
    for (const { name, run } of taskStoreContract(make, { histories: tries(5, 20) })) it(name, run);
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
