import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import type { Task } from "../../../src/protocol/model.js";
import type { StreamItem } from "../../../src/protocol/operations.js";
import { type Demo, startDemo, trivium } from "../../support/command.js";
import { itemsOf } from "../../support/items.js";
import { hasPostgres, type SharedPostgres, sharedPostgres } from "../../support/postgres.js";
import { lineOf, openStream, requestOf, stateOf, textIn } from "../../support/say.js";

let home: string;
let folders = 0;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "trivium-demo-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function newFolder(): string {
  const folder = join(home, String(++folders));
  mkdirSync(folder);
  return folder;
}

const startIn = (folder: string, ...args: string[]): Promise<Demo> => startDemo(["--port", "0", ...args], {}, folder);

function taskIdOf({ response: { payload } }: StreamItem): string {
  if (payload.case === "task") return payload.value.id;
  if (payload.case === "message" || payload.case === undefined) throw new Error(`the answer is ${payload.case}`);
  return payload.value.taskId;
}

const getTask = (client: Client, id: string): Promise<Task> => client.getTask(requestOf("getTask", { id }));

const reportOf = (task: Task): string => textIn(task.artifacts.find((each) => each.name === "report.md")?.parts);

describe("the store of trivium demo", () => {
  it("the store of trivium demo is a file in the folder, and every event shown survives SIGKILL", async () => {
    const folder = newFolder();
    await using first = await startIn(folder);
    expect(first.greeting).toContain("\nTasks are kept in .trivium/tasks.db and persist across restarts.\n");
    expect(existsSync(join(folder, ".trivium/tasks.db"))).toBe(true);
    await using before = await Client.connect(first.url);
    const items = await itemsOf(before.stream("The quick brown fox jumps over the lazy dog. It does so every day."));
    const [opening] = items;
    if (opening === undefined) throw new Error("the stream was empty");
    const task = await getTask(before, taskIdOf(opening));
    expect(stateOf(task)).toBe("COMPLETED");
    expect(reportOf(task)).toContain("# Text analysis");
    await first.stop("SIGKILL");

    await using second = await startIn(folder);
    await using after = await Client.connect(second.url);
    expect(await getTask(after, task.id)).toEqual(task);
    for (const [place, { id }] of items.entries()) {
      const rest = await itemsOf(after.subscribeToTask({ id: task.id }, { after: id }));
      expect(rest.map(lineOf)).toEqual(items.slice(place + 1).map(lineOf));
    }
    expect(await second.stop()).toBe(0);
  });

  it("the store of trivium demo is closed on SIGTERM: all is in the file, and nothing beside it", async () => {
    const folder = newFolder();
    await using demo = await startIn(folder);
    await using client = await Client.connect(demo.url);
    await client.send("One sentence.");
    expect(await demo.stop("SIGTERM")).toBe(0);
    expect(existsSync(join(folder, ".trivium/tasks.db-wal"))).toBe(false);
    const file = new DatabaseSync(join(folder, ".trivium/tasks.db"), { readOnly: true });
    expect(file.prepare("select count(*) as tasks from trivium_tasks").get()).toEqual({ tasks: 1 });
    file.close();
  });

  it("the store of trivium demo is memory when requested, also by the environment", async () => {
    const folder = newFolder();
    await using demo = await startDemo(["--port", "0"], { TRIVIUM_STORE: "memory" }, folder);
    expect(demo.greeting).toContain("\nTasks are kept in memory and end with this process.\n");
    expect(existsSync(join(folder, ".trivium"))).toBe(false);
    await using other = await startDemo(["--port", "0", "--store", "own.db"], { TRIVIUM_STORE: "memory" }, folder);
    expect(other.greeting).toContain("\nTasks are kept in own.db ");
  });
});

let server: SharedPostgres | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await sharedPostgres();
}, 90_000);

/** Stores that several processes use, one after the other or at the same time. */
const shared = [
  {
    name: "a file",
    skipped: false,
    make: async (folder: string): Promise<string> => join(folder, "tasks.db"),
    holders: async (store: string): Promise<unknown[]> => {
      const file = new DatabaseSync(store, { readOnly: true });
      const rows = file.prepare(holdersSql).all();
      file.close();
      return rows.map(({ holder }) => holder);
    },
  },
  {
    name: "PostgreSQL",
    skipped: !hasPostgres,
    make: async (): Promise<string> => (await server?.createDatabase()) ?? "",
    holders: async (store: string): Promise<unknown[]> =>
      ((await server?.query(holdersSql, [], store)) ?? []).map(({ holder }) => holder),
  },
] as const;

const holdersSql = "select holder from trivium_tasks";

for (const { name, skipped, make, holders } of shared) {
  describe.skipIf(skipped)(`trivium demo on ${name}`, () => {
    it("trivium demo lets a task that waits for its caller go on after SIGKILL, and takes a message once", async () => {
      const folder = newFolder();
      const store = await make(folder);
      await using first = await startIn(folder, "--store", store);
      await using before = await Client.connect(first.url);
      const question = await before.send(" ", { messageId: "nothing" });
      expect(question.state).toBe("input-required");
      // The turn ends after the question it asked.
      await expect.poll(() => holders(store)).toEqual([""]);
      await first.stop("SIGKILL");

      await using second = await startIn(folder, "--store", store);
      await using after = await Client.connect(second.url);
      const { taskId } = question;
      expect(await after.send(" ", { messageId: "nothing" })).toMatchObject({ taskId });
      expect(await after.send("One sentence.", { continue: question })).toMatchObject({ taskId });
      expect(stateOf(await getTask(after, taskId))).toBe("COMPLETED");
      expect((await after.listTasks({})).totalSize).toBe(1);
    });

    it("the store of trivium demo may be shared by two processes, each of which sees what the other does", async () => {
      const folder = newFolder();
      const store = await make(folder);
      await using first = await startIn(folder, "--store", store);
      await using second = await startIn(folder, "--store", store);
      await using here = await Client.connect(first.url);
      await using there = await Client.connect(second.url);
      const question = await here.send(" ");
      const { taskId: id } = question;
      const watched = await openStream(here.watch(id));
      expect(lineOf(watched.firstItem)).toBe("task INPUT_REQUIRED");
      await there.send("One sentence.", { continue: question });
      expect((await watched.readRest()).at(-1)).toBe("status COMPLETED");
      expect(reportOf(await getTask(here, id))).toContain("# Text analysis");
      expect(await second.stop()).toBe(0);
      expect(stateOf(await getTask(here, id))).toBe("COMPLETED");
    });
  });
}

describe("an unusable store is reported in one sentence", () => {
  async function refusal(folder: string, store: string): Promise<string> {
    const args = ["demo", "--port", "0", "--log-level", "silent", "--store", store];
    const { code, stdout, stderr } = await trivium(args, { cwd: folder });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^error: the store [^\n]* cannot be used: [^\n]+\n$/);
    return stderr;
  }

  it("trivium demo reports a database of a newer release in one sentence", async () => {
    const folder = newFolder();
    expect((await trivium(["db", "migrate", "--store", "tasks.db"], { cwd: folder })).code).toBe(0);
    const file = new DatabaseSync(join(folder, "tasks.db"));
    file.exec("insert into trivium_schema (version, applied_at) values (999, 0)");
    file.close();
    expect(await refusal(folder, "tasks.db")).toMatch(
      /tasks\.db cannot be used: the database has schema 999, this release knows up to \d+: use a newer release/,
    );
  });

  it("trivium demo reports a file that is no database in one sentence", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "notes.txt"), "Buy milk, and something for the cat. ".repeat(100));
    expect(await refusal(folder, "notes.txt")).toContain("the database is damaged or not a database");
  });

  it("trivium demo reports a folder, and a path through a file, in one sentence", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "file"), "");
    await refusal(folder, ".");
    await refusal(folder, "file/tasks.db");
  });

  it("trivium demo reports a PostgreSQL that is not there in one sentence, without its password", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as { readonly port: number };
    closed.close();
    const message = await refusal(newFolder(), `postgres://agent:s3cret@127.0.0.1:${port}/agent`);
    expect(message).toContain(`the store postgres://agent@127.0.0.1:${port}/agent cannot be used: `);
    expect(message).toContain("the database cannot be reached");
    expect(message).not.toContain("s3cret");
  });
});
