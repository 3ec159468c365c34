import { describe, it } from "vitest";
import { createSqlStore } from "../../../src/store/sql/task-store.js";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { tries } from "../../support/tries.js";
import { openBackend } from "./database.js";

describe("the queries over SQLite, in one thread, with each write alone", () => {
  const make = async () => {
    const clock = createTestClock();
    const { backend } = await openBackend(":memory:", () => clock.now());
    const store = createSqlStore(backend, { clock });
    return { store, advance: (ms: number) => clock.advance(ms) };
  };
  for (const { name, run } of taskStoreContract(make, { histories: tries(8, 60) })) it(name, run);

  const makePush = async () => {
    const { store: tasks, advance } = await make();
    if (tasks.push === undefined) throw new Error("the store has no push store");
    return { store: tasks.push, tasks, advance };
  };
  for (const { name, run } of pushStoreContract(makePush)) it(name, run);
});
