import { describe, expect, it } from "vitest";
import { createSqlStore } from "../../../src/store/sql/task-store.js";
import { localSqliteBackend } from "../../../src/store/sqlite/database.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { tries } from "../../support/tries.js";
import { temporaryFolder } from "./temporary-folder.js";

/** A store in a file of the test, in the database's own thread or in this one, which starts faster. */
function sqliteIn(context: "worker" | "here") {
  return async () => {
    const clock = createTestClock();
    const path = `${await temporaryFolder()}/tasks.db`;
    const options = { path, synchronous: "NORMAL", clock } as const;
    const store =
      context === "worker" ? sqliteStore(options) : createSqlStore(localSqliteBackend(options, clock.now), { clock });
    return { store, advance: (ms: number) => clock.advance(ms) };
  };
}

describe("the task store in a file of SQLite", () => {
  for (const { name, run } of taskStoreContract(sqliteIn("here"), { histories: tries(10, 30) })) it(name, run);
});

// Starting a thread is slow, so this covers only what the thread adds: errors, concurrent writes, bytes, and every
// method within the histories.
describe("the task store in an SQLite file with its own thread", () => {
  const onTheWay = /creating|at the same time|a name that is taken|the outcome of a send|does what the model does/;
  const tests = taskStoreContract(sqliteIn("worker"), { histories: tries(4, 10) }).filter(({ name }) =>
    onTheWay.test(name),
  );
  it("has histories among its tests", () => expect(tests.some(({ name }) => name.includes("the model"))).toBe(true));
  for (const { name, run } of tests) it(name, run);
});

describe.each(["worker", "here"] as const)("the push store in a file of SQLite, in the thread: %s", (context) => {
  const make = async () => {
    const { store: tasks, advance } = await sqliteIn(context)();
    const { push } = tasks;
    if (push === undefined) throw new Error("the store has no place for push configurations");
    return { store: push, tasks, advance };
  };
  for (const { name, run } of pushStoreContract(make, { besideTasks: true })) it(name, run);
});
