import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { artifact, serve } from "trivium";
import { describe, expect, it } from "vitest";
import { createSqlStore } from "../../../src/store/sql/task-store.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { createRemoteBackend } from "../../../src/store/sqlite/remote-backend.js";
import { resolveSettings } from "../../../src/store/sqlite/settings.js";
import { DatabaseThread } from "../../../src/store/sqlite/thread.js";
import { connectInProcess } from "../../../src/testing/connect-to.js";
import { alice, newTask } from "../../../src/testing/contract/fixtures.js";
import { rawCall } from "../../support/http-agent.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { errorOf, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { temporaryFolder } from "./temporary-folder.js";

// What is written to a file that is no longer at its path is lost with the process, however it went.

interface Place {
  readonly folder: string;
  readonly path: string;
}

/** By a process of its own: one that closes a file drops all its locks on it. */
const copy = (from: string, to: string) => execFileSync("cp", [from, to]);

/** A copy of the database in use, as the guide makes one. */
function backUp({ path, folder }: Place): string {
  const backup = `${folder}/copy.db`;
  const database = new DatabaseSync(path);
  database.exec(`vacuum into '${backup}'`);
  database.close();
  return backup;
}

function makeOther({ folder }: Place): string {
  const other = `${folder}/other.db`;
  const database = new DatabaseSync(other);
  database.exec("create table other (x); insert into other values (1)");
  database.close();
  return other;
}

function removeAll({ folder, path }: Place): void {
  for (const name of readdirSync(folder)) if (`${folder}/${name}`.startsWith(path)) rmSync(`${folder}/${name}`);
}

const moves: Readonly<Record<string, (place: Place, backup: string) => void>> = {
  "all of it is removed": removeAll,
  "it alone is removed": ({ path }) => rmSync(path),
  "it is renamed": ({ path }) => renameSync(path, `${path}.old`),
  "its folder is removed": ({ folder }) => rmSync(folder, { recursive: true }),
  "its folder is renamed": ({ folder }) => renameSync(folder, `${folder}-old`),
  "a backup is moved over it": ({ path }, backup) => renameSync(backup, path),
  "a backup is copied over it": ({ path }, backup) => copy(backup, path),
  "a backup is copied over it and its logs are removed": (place, backup) => {
    copy(backup, place.path);
    for (const end of ["-wal", "-shm"]) rmSync(`${place.path}${end}`);
  },
  "a database of another program is copied over it": (place) => copy(makeOther(place), place.path),
  "it is removed and made anew": (place) => {
    removeAll(place);
    copy(makeOther(place), place.path);
  },
  "its write-ahead log is removed": ({ path }) => rmSync(`${path}-wal`),
  "its index is removed": ({ path }) => rmSync(`${path}-shm`),
};

/** A server on a file in a folder of its own. */
async function startOn(path: string) {
  const { log, logger } = recordingLogger();
  const store = sqliteStore({ path });
  const started: string[] = [];
  const server = await serve({
    card: { name: "Tested", description: "Does what the test says", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    logger,
    store,
    limits: { heartbeatMs: 20, instanceTtlMs: 5000, storeRetryMs: 200 },
    async *agent({ text }) {
      started.push(text);
      yield artifact(text);
    },
  });
  const client = await connectInProcess({ card: server.card, inProcess: server.inProcess }, { retry: false });
  return {
    ...{ server, store, log, started },
    send: (text: string) => client.operations.sendMessage(say(text), {}),
    get: (id: string) => client.operations.getTask(requestOf("getTask", { id }), {}),
    readiness: async () => (await rawCall(`${server.url}/readyz`, { method: "GET" })).status,
    problems: () => log.filter(({ level }) => level === "error" || level === "warn"),
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
      await store.close();
    },
  };
}

async function newPlace(): Promise<Place> {
  const folder = `${await temporaryFolder()}/data`;
  mkdirSync(folder);
  return { folder, path: `${folder}/tasks.db` };
}

describe("a server whose file was in its place", () => {
  it.each(Object.entries(moves))(
    "a server whose file was in its place is not ready and takes no sends once %s, and says so in one record",
    async (_, move) => {
      const place = await newPlace();
      await using served = await startOn(place.path);
      const backup = backUp(place);
      const { id } = taskOf(await served.send("before"));
      expect(await served.readiness()).toBe(200);
      move(place, backup);
      await expect.poll(served.readiness, { timeout: 10_000 }).toBe(503);
      expect(await errorOf(served.send("after"))).toMatchObject({ code: "unavailable" });
      expect(served.started).toEqual(["before"]);
      const [record, ...others] = served.problems();
      expect(others).toEqual([]);
      expect(record).toMatchObject({
        level: "error",
        message: "the task store cannot be used any more: it needs a restart of this process",
        fields: { err: { failure: "moved", message: expect.stringContaining(place.path) } },
      });
      if (!_.includes("copied over")) expect(stateOf(await served.get(id))).toBe("COMPLETED");
    },
  );

  it("a server whose file was moved stays not ready when the file comes back, until it is started again", async () => {
    const place = await newPlace();
    {
      await using served = await startOn(place.path);
      await served.send("before");
      renameSync(place.path, `${place.path}.old`);
      await expect.poll(served.readiness, { timeout: 10_000 }).toBe(503);
      renameSync(`${place.path}.old`, place.path);
      const beats = () => served.log.filter(({ message }) => message === "the heartbeat failed").length;
      const before = beats();
      await expect.poll(beats).toBeGreaterThan(before + 3);
      expect(await served.readiness()).toBe(503);
      expect(await errorOf(served.send("after"))).toMatchObject({ code: "unavailable" });
      expect(served.problems()).toHaveLength(1);
    }
    await using again = await startOn(place.path);
    expect(await again.readiness()).toBe(200);
    expect(stateOf(taskOf(await again.send("again")))).toBe("COMPLETED");
  });

  it("a server loses nothing when its write-ahead log alone is removed, however the process ends", async () => {
    const place = await newPlace();
    await using served = await startOn(place.path);
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push(taskOf(await served.send(`message ${count}`)).id);
    rmSync(`${place.path}-wal`);
    await expect.poll(served.readiness, { timeout: 10_000 }).toBe(503);
    // As a process that was killed leaves it.
    copy(place.path, `${place.folder}/left.db`);
    const left = new DatabaseSync(`${place.folder}/left.db`);
    const rows = left.prepare("select id from trivium_tasks order by key").all();
    left.close();
    expect(rows.map(({ id }) => id)).toEqual(ids);
  });

  it("a server whose file was replaced does not touch the files of the database in its place", async () => {
    const place = await newPlace();
    let other: DatabaseSync;
    {
      await using served = await startOn(place.path);
      await served.send("before");
      removeAll(place);
      other = new DatabaseSync(place.path);
      other.exec("pragma journal_mode = wal; create table other (x); insert into other values (1)");
      await expect.poll(served.readiness, { timeout: 10_000 }).toBe(503);
    }
    expect(existsSync(`${place.path}-wal`)).toBe(true);
    expect(other.prepare("select x from other").all()).toEqual([{ x: 1 }]);
    other.close();
  });
});

describe("a server whose file stays in its place", () => {
  it("a server whose file stays in its place stays ready while others write, check and copy it", async () => {
    const place = await newPlace();
    symlinkSync(place.path, `${place.folder}/link.db`);
    await using served = await startOn(`${place.folder}/link.db`);
    for (let round = 0; round < 10; round += 1) {
      for (let count = 0; count < 5; count += 1) await served.send("x".repeat(20_000));
      const other = new DatabaseSync(place.path, { timeout: 5000 });
      other.exec("delete from trivium_log; pragma wal_checkpoint(truncate); vacuum; pragma wal_checkpoint(passive)");
      other.prepare("pragma quick_check").all();
      other.exec(`vacuum into '${place.folder}/copy-${round}.db'`);
      other.close();
      await served.store.renew("another", 1000);
    }
    expect(await served.readiness()).toBe(200);
    expect(served.problems()).toEqual([]);
  });
});

it("a store that is closed leaves the locks of another one on the same file in place", async () => {
  const { path } = await newPlace();
  const stores = [sqliteStore({ path }), sqliteStore({ path })] as const;
  for (const store of stores) await store.open?.();
  await stores[0].close();
  // The last process to leave a file removes its log.
  const visit = `const file = new (require("node:sqlite").DatabaseSync)(process.argv[1]);
    file.prepare("select count(*) from trivium_tasks").get(); file.close()`;
  execFileSync(process.execPath, ["-e", visit, path], { stdio: "ignore" });
  expect(existsSync(`${path}-wal`)).toBe(true);
  await stores[1].renew("here", 1000);
  await stores[1].close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});

describe("the thread of a database that ends", () => {
  function storeOn(path: string) {
    const thread = new DatabaseThread({ settings: resolveSettings({ path }) });
    return { thread, store: createSqlStore(createRemoteBackend(thread)) };
  }

  it("a database thread that ends is not followed by one that makes a new file where the old one is gone", async () => {
    const place = await newPlace();
    const { thread, store } = storeOn(place.path);
    const head = await store.create(newTask());
    await thread.terminate();
    removeAll(place);
    await expect(store.head(alice, head.id)).rejects.toMatchObject({ failure: "moved" });
    await expect(store.create(newTask())).rejects.toMatchObject({ failure: "moved" });
    expect(existsSync(place.path)).toBe(false);
    await store.close();
  });

  it("a database thread that ends is followed by one that takes the new log for its own", async () => {
    const place = await newPlace();
    const { thread, store } = storeOn(place.path);
    const head = await store.create(newTask());
    await thread.terminate();
    await store.renew("another", 1000);
    await store.renew("another", 1000);
    expect(await store.head(alice, head.id)).toEqual(head);
    await store.close();
  });
});
