import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSqlStore } from "../../../src/store/sql/task-store.js";
import { localSqliteBackend } from "../../../src/store/sqlite/database.js";
import { createRemoteBackend } from "../../../src/store/sqlite/remote-backend.js";
import { resolveSettings } from "../../../src/store/sqlite/settings.js";
import { DatabaseThread } from "../../../src/store/sqlite/thread.js";
import { pushStoreContract } from "../../../src/testing/contract/push-store.js";
import { taskStoreContract } from "../../../src/testing/contract/task-store.js";
import { createTestClock, type TestClock } from "../../../src/testing/test-clock.js";
import { emptyTables } from "../../support/empty-tables.js";
import { tries } from "../../support/tries.js";
import { temporaryFolder } from "./temporary-folder.js";

let folder: string;
let thread: DatabaseThread;
let clock: TestClock;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-contract-"));
  const settings = resolveSettings({ path: `${folder}/tasks.db`, synchronous: "NORMAL" });
  thread = new DatabaseThread({ settings, now: () => clock.now() });
});
afterAll(async () => {
  await thread.close();
  rmSync(folder, { recursive: true });
});

/** A store in an empty file. A thread takes longer to start than most tests, so that all of them use one. */
const makers = {
  async worker() {
    clock = createTestClock();
    await thread.ask({ kind: "open" });
    const file = new DatabaseSync(`${folder}/tasks.db`);
    file.exec(emptyTables);
    file.close();
    const store = createSqlStore(createRemoteBackend({ ask: thread.ask.bind(thread), close: async () => {} }), {
      clock,
    });
    return { store, advance: (ms: number) => clock.advance(ms) };
  },
  async here() {
    const own = createTestClock();
    const path = `${await temporaryFolder()}/tasks.db`;
    const store = createSqlStore(localSqliteBackend({ path, synchronous: "NORMAL" }, own.now), { clock: own });
    return { store, advance: (ms: number) => own.advance(ms) };
  },
} as const;

describe("the task store in a file of SQLite", () => {
  for (const { name, run } of taskStoreContract(makers.here, { histories: tries(5, 30) })) it(name, run);
});

// Only what the thread adds: errors, concurrent writes, bytes, and every method within the histories.
describe("the task store in an SQLite file with its own thread", () => {
  const onTheWay = /creating|at the same time|a name that is taken|the outcome of a send|does what the model does/;
  const tests = taskStoreContract(makers.worker, { histories: tries(2, 10) }).filter(({ name }) => onTheWay.test(name));
  it("the contract of the task store has histories among its tests", () =>
    expect(tests.some(({ name }) => name.includes("the model"))).toBe(true));
  for (const { name, run } of tests) it(name, run);
});

describe.each(["worker", "here"] as const)("the push store in a file of SQLite, in the thread: %s", (context) => {
  const make = async () => {
    const { store: tasks, advance } = await makers[context]();
    const { push } = tasks;
    if (push === undefined) throw new Error("the store has no place for push configurations");
    return { store: push, tasks, advance };
  };
  for (const { name, run } of pushStoreContract(make, { besideTasks: true })) it(name, run);
});
