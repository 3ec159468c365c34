import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { startDemo, trivium, triviumAlone } from "../support/command.js";
import { hasPostgres, type SharedPostgres, sharedPostgres } from "../support/postgres.js";

interface Status {
  readonly version: number;
  readonly latest: number;
  readonly pending: readonly { readonly version: number; readonly name: string }[];
}

let home: string;
let files = 0;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "trivium-db-"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const newFile = (): string => join(home, `${++files}.db`);

const ended = new Set<string | undefined>();

/** Runs `trivium db …` and parses its output as JSON. */
async function db<T>(...args: string[]): Promise<T> {
  // One run of each subcommand has its own process, which must exit by itself.
  const run = ended.has(args[0]) ? trivium : triviumAlone;
  ended.add(args[0]);
  const { code, stdout, stderr } = await run(["db", ...args]);
  // On a busy machine a migration takes longer than a second, and reports its progress.
  const unasked = stderr.replaceAll(/^(?:migrating the database|the database has been migrated) .*\n/gm, "");
  expect({ code, stderr: unasked }).toEqual({ code: 0, stderr: "" });
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return JSON.parse(stdout) as T;
}

async function finishedTask(client: Client): Promise<string> {
  const { state, taskId } = await client.send("One sentence.");
  expect(state).toBe("completed");
  return taskId;
}

/** Runs a demo on the store and stops it. */
async function serveOnce(store: string): Promise<void> {
  await using demo = await startDemo(["--port", "0", "--store", store]);
  await using client = await Client.connect(demo.url);
  const id = await finishedTask(client);
  expect((await client.listTasks({})).tasks.map((task) => task.id)).toEqual([id]);
  expect(await demo.stop()).toBe(0);
}

let server: SharedPostgres | undefined;
beforeAll(async () => {
  if (hasPostgres) server = await sharedPostgres();
}, 90_000);

const databases = [
  { name: "SQLite", skipped: false, make: async (): Promise<string> => newFile() },
  {
    name: "PostgreSQL",
    skipped: !hasPostgres,
    make: async (): Promise<string> => {
      if (server === undefined) throw new Error("no server");
      return await server.createDatabase();
    },
  },
] as const;

for (const { name, skipped, make } of databases) {
  describe.skipIf(skipped)(`trivium db on ${name}`, { concurrent: true }, () => {
    it("trivium db migrates an empty database, and prints the pending migrations before and after", async () => {
      const store = await make();
      if (name === "SQLite") new DatabaseSync(store).close();
      const before = await db<Status>("status", "--store", store);
      expect(before.version).toBe(0);
      expect(before.pending.map(({ version }) => version)).toEqual(
        Array.from({ length: before.latest }, (_, index) => index + 1),
      );
      const after = { version: before.latest, latest: before.latest, pending: [] };
      expect(await db("migrate", "--store", store)).toEqual(after);
      expect(await db("migrate", "--store", store)).toEqual(after);
      expect(await db("status", "--store", store)).toEqual(after);
    });

    it("trivium db finds the schema up to date after a server has started", async () => {
      const store = await make();
      await serveOnce(store);
      const { version, latest, pending } = await db<Status>("status", "--store", store);
      expect({ version, pending }).toEqual({ version: latest, pending: [] });
    });

    it("trivium db prunes only old finished tasks, while a server runs", async () => {
      const store = await make();
      await using demo = await startDemo(["--port", "0", "--store", store]);
      await using client = await Client.connect(demo.url);
      const waiting = await client.send(" ");
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) ids.push(await finishedTask(client));
      const left = async (): Promise<string[]> => (await client.listTasks({})).tasks.map(({ id }) => id).toSorted();

      expect(await db("prune", "--store", store)).toEqual({ tasks: 0, logs: 0, entries: 0 });
      expect(await db("prune", "--store", store, "--tasks-max", "2")).toMatchObject({ tasks: 1 });
      expect(await left()).toEqual([waiting.taskId, ...ids.slice(1)].toSorted());
      const logs = await db<{ logs: number }>("prune", "--store", store, "--logs-older-than", "0s");
      expect(logs.logs).toBeGreaterThan(0);
      expect(await left()).toHaveLength(3);
      const all = ["--tasks-older-than", "0s", "--logs-older-than", "never", "--sends-older-than", "0s"];
      expect(await db("prune", "--store", store, ...all)).toEqual({ tasks: 2, logs: 0, entries: 0 });
      expect(await left()).toEqual([waiting.taskId]);
      expect(await client.send("A sentence.", { continue: waiting })).toMatchObject({ taskId: waiting.taskId });
    });

    it("trivium db refuses to migrate what a newer release has made", async () => {
      const store = await make();
      await db("migrate", "--store", store);
      const newer = "insert into trivium_schema (version, applied_at) values (999, 0)";
      if (name === "SQLite") {
        const file = new DatabaseSync(store);
        file.exec(newer);
        file.close();
      } else {
        await server?.query(newer, [], store);
      }
      const { code, stdout, stderr } = await trivium(["db", "migrate", "--store", store]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^error: the store [^\n]+ cannot be used: the database has schema 999, [^\n]+\n$/);
      expect((await db<Status>("status", "--store", store)).version).toBe(999);
    });
  });
}

describe.concurrent("trivium db", () => {
  it.each(["status", "prune"])("trivium db %s of a file that is not there makes none", async (command) => {
    const store = newFile();
    const { code, stdout, stderr } = await trivium(["db", command, "--store", store]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(`error: the store ${store} cannot be used: there is no such file\n`);
    expect(existsSync(store)).toBe(false);
  });

  it("trivium db status and prune make no tables", async () => {
    const store = newFile();
    const empty = new DatabaseSync(store);
    await db("status", "--store", store);
    const { code, stderr } = await trivium(["db", "prune", "--store", store]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/: the database has schema 0, this release needs \d+: run trivium db migrate\n$/);
    expect(empty.prepare("select count(*) as tables from sqlite_master").get()).toEqual({ tables: 0 });
    empty.close();
  });

  it("trivium db sql, run by hand, makes what migrate makes on SQLite", async () => {
    const { code, stdout, stderr } = await trivium(["db", "sql", "--dialect", "sqlite"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [byHand, migrated] = [newFile(), newFile()];
    const file = new DatabaseSync(byHand);
    file.exec(stdout);
    file.close();
    const status = await db<Status>("migrate", "--store", migrated);
    expect(await db("status", "--store", byHand)).toEqual(status);
    expect(schemaOf(byHand)).toEqual(schemaOf(migrated));
    await serveOnce(byHand);
  });

  it.skipIf(!hasPostgres)("trivium db sql, run by hand, makes a PostgreSQL that a server can use", async () => {
    if (server === undefined) throw new Error("no server");
    const { stdout } = await trivium(["db", "sql", "--dialect", "postgres"]);
    const store = await server.createDatabase();
    await server.query(stdout, [], store);
    expect(await db<Status>("status", "--store", store)).toMatchObject({ pending: [] });
    await serveOnce(store);
  });

  it("trivium db sql gives nothing for a schema that is there already", async () => {
    const { latest } = await db<Status>("migrate", "--store", newFile());
    const { code, stdout } = await trivium(["db", "sql", "--dialect", "postgres", "--from", String(latest)]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  });

  it("trivium db reads the location of the store from the environment", async () => {
    const store = newFile();
    const { code, stdout } = await trivium(["db", "migrate"], { env: { TRIVIUM_STORE: store } });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ pending: [] });
    expect(existsSync(store)).toBe(true);
  });
});

function schemaOf(path: string): unknown {
  const file = new DatabaseSync(path, { readOnly: true });
  const rows = file.prepare("select type, name, tbl_name, sql from sqlite_master order by type, name").all();
  file.close();
  return rows;
}
