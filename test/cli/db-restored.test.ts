import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renewEventIds } from "../../src/cli/databases.js";
import { inputRequired } from "../../src/protocol/events.js";
import { TaskState } from "../../src/protocol/model.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { alice, appendTo, newTask, readHead, status } from "../../src/testing/contract/fixtures.js";
import { startHandler, type TestHandler } from "../support/handler.js";
import { hasPostgres, type SharedPostgres, sharedPostgres } from "../support/postgres.js";
import { lineOf, openStream, stateOf, taskOf } from "../support/say.js";

let home: string;
let server: SharedPostgres | undefined;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "trivium-restored-"));
  if (hasPostgres) server = await sharedPostgres();
}, 90_000);
afterAll(async () => {
  await rm(home, { recursive: true, force: true });
});

/** Serves an agent that keeps asking, over a database file, while `use` runs. */
async function over<T>(path: string, use: (served: TestHandler) => Promise<T>): Promise<T> {
  const store = sqliteStore({ path });
  const served = startHandler({ agent: async ({ text }) => inputRequired(`${text}?`), store });
  try {
    return await use(served);
  } finally {
    await served[Symbol.asyncDispose]();
    await store.close();
  }
}

/** Sends a text and waits until the turn has ended, not only until the reply. */
async function runTurn({ send, store }: TestHandler, text: string, taskId?: string): Promise<string> {
  const task = taskOf(await send(text, taskId === undefined ? {} : { taskId }));
  expect(stateOf(task)).toBe("INPUT_REQUIRED");
  await expect.poll(async () => (await store.head(alice, task.id))?.holder).toBe("");
  return task.id;
}

/** Returns the first event of a subscription and its id. */
async function firstOf({ subscribe }: TestHandler, taskId: string, after?: string) {
  const { firstItem: first, iterator } = await openStream(subscribe(taskId, { after }));
  await iterator.return?.();
  return { line: lineOf(first), id: first.id };
}

describe("an id of an event that a restore has undone", () => {
  it("an event id that a restore has undone resumes in another history, unless restored is run", async () => {
    const path = join(home, "tasks.db");
    const copy = join(home, "copy.db");
    const { taskId, id } = await over(path, async (served) => {
      const taskId = await runTurn(served, "one");
      const file = new DatabaseSync(path);
      file.exec(`vacuum into '${copy}'`);
      file.close();
      await runTurn(served, "two", taskId);
      const { id } = await firstOf(served, taskId);
      return { taskId, id };
    });
    const plain = join(home, "plain.db");
    await copyFile(copy, plain);
    expect(await renewEventIds({ kind: "sqlite", path: copy })).toEqual({ tasks: 1 });
    const resumed = async (file: string) =>
      over(file, async (served) => {
        await runTurn(served, "other", taskId);
        await runTurn(served, "more", taskId);
        const { line } = await firstOf(served, taskId, id);
        // An id from after the restore still works.
        const { id: current } = await firstOf(served, taskId);
        await runTurn(served, "last", taskId);
        return [line, (await firstOf(served, taskId, current)).line];
      });
    const [wrong, good] = await resumed(plain);
    expect(wrong).not.toMatch(/^task/);
    expect(await resumed(copy)).toEqual(["task INPUT_REQUIRED", good]);
    expect(good).toBe("status INPUT_REQUIRED");
  });
});

const places = [
  { name: "SQLite", skipped: false, make: async () => ({ kind: "sqlite", path: join(home, "heads.db") }) as const },
  {
    name: "PostgreSQL",
    skipped: !hasPostgres,
    make: async () => ({ kind: "postgres", url: (await server?.createDatabase()) ?? "" }) as const,
  },
];

describe.each(places)("trivium db restored on $name", ({ skipped, make }) => {
  it.skipIf(skipped)(
    "trivium db restored gives a new incarnation to tasks that are not finished, and to no others",
    async () => {
      const place = await make();
      const open = () =>
        place.kind === "sqlite" ? sqliteStore({ path: place.path }) : postgresStore({ url: place.url });
      const before = open();
      const waiting = await before.create(newTask());
      const ended = await before.create(newTask());
      await before.append(appendTo(ended, { ...status(TaskState.COMPLETED, 2_000, 2), end: { inboxPut: 0 } }));
      await before.close();
      expect(await renewEventIds(place)).toEqual({ tasks: 1 });
      const after = open();
      expect((await readHead(after, ended)).incarnation).toBe(ended.incarnation);
      const { incarnation } = await readHead(after, waiting);
      expect(incarnation).toMatch(/^[\da-f]{8}$/);
      expect(incarnation).not.toBe(waiting.incarnation);
      await after.close();
    },
  );
});
