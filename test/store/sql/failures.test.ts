import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { Head, LogRecord, Store } from "../../../src/core/ports.js";
import { TaskState } from "../../../src/protocol/model.js";
import { createSqlStore } from "../../../src/store/sql/task-store.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import type { ThreadRequest } from "../../../src/store/sqlite/messages.js";
import { createRemoteBackend } from "../../../src/store/sqlite/remote-backend.js";
import { resolveSettings, type SqliteFileOptions } from "../../../src/store/sqlite/settings.js";
import { DatabaseThread } from "../../../src/store/sqlite/thread.js";
import { alice, appendTo, event, newTask, readHead, status } from "../../../src/testing/contract/fixtures.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { temporaryFolder } from "./temporary-folder.js";

function threadOf(options: SqliteFileOptions): DatabaseThread {
  return new DatabaseThread({ settings: resolveSettings(options) });
}

function integrityOf(path: string): unknown {
  const database = new DatabaseSync(path);
  try {
    return database.prepare("pragma integrity_check").get()?.["integrity_check"];
  } finally {
    database.close();
  }
}

/** A record of about 50 kB. */
function large(seq: number): LogRecord {
  return event(seq, "x".repeat(50_000));
}

/** Appends until the store refuses. Returns the last acknowledged head and the error. */
async function fill(store: Store, inserted: Head): Promise<{ readonly head: Head; readonly error: unknown }> {
  let head = inserted;
  for (;;) {
    try {
      expect(await store.append(appendTo(head, { records: [large(head.seq + 1)] }))).toBe("stored");
      head = { ...head, seq: head.seq + 1 };
    } catch (error) {
      return { head, error };
    }
  }
}

describe("a file that has no room left", () => {
  it("a full file of SQLite refuses writes, keeps its content, and takes writes once tasks were dropped", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    const clock = createTestClock();
    const retention = { tasksMs: 1_000 };
    const store = sqliteStore({ path, clock, retention, pruneEveryMs: 60_000, maxBytes: 1_000_000 });
    for (let index = 0; index < 6; index += 1) {
      const done = { ...status(TaskState.COMPLETED, clock.now(), 1), end: { inboxPut: 0 } };
      const ended = { state: TaskState.COMPLETED, time: clock.now() };
      await store.create(newTask({ records: [large(1)], ...done, status: ended }));
    }
    const { head, error } = await fill(store, await store.create(newTask()));
    expect(error).toMatchObject({ failure: "full", message: expect.stringMatching(/^the database is full: /) });
    expect(head.seq).toBeGreaterThan(1);
    expect(await store.head(alice, head.id)).toEqual(head);
    await expect(store.create(newTask({ records: [large(1)] }))).rejects.toMatchObject({ failure: "full" });
    expect(integrityOf(path)).toBe("ok");
    await clock.advance(60_000);
    await expect.poll(async () => (await store.list(alice, { limit: 10 })).total).toBe(1);
    expect(await store.append(appendTo(head, { records: [large(head.seq + 1)] }))).toBe("stored");
    await store.close();
    expect(integrityOf(path)).toBe("ok");
  });
});

describe("a file that may only be read", () => {
  it("a file of SQLite that may only be read is refused when it is opened, and so is each write", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    const writing = sqliteStore({ path });
    await writing.open?.();
    const reading = sqliteStore({ path: `file:${path}?mode=ro` });
    const readOnly = { failure: "readOnly", message: expect.stringContaining("the database is read-only") };
    await expect(reading.open?.()).rejects.toMatchObject(readOnly);
    await expect(reading.create(newTask())).rejects.toMatchObject(readOnly);
    expect((await writing.list(alice, { limit: 10 })).total).toBe(0);
    await reading.close();
    await writing.close();
  });
});

describe("a path that leads to no database", () => {
  it("a path that leads to no database is refused by name, and works once the way is free", async () => {
    const folder = await temporaryFolder();
    const { rm, writeFile } = await import("node:fs/promises");
    await writeFile(`${folder}/here`, "a file where the folder should be");
    const store = sqliteStore({ path: `${folder}/here/tasks.db` });
    await expect(store.create(newTask())).rejects.toMatchObject({ message: expect.stringContaining(`${folder}/here`) });
    await rm(`${folder}/here`);
    const { id } = await store.create(newTask());
    expect(await store.head(alice, id)).toBeDefined();
    await store.close();
  });

  it("a path to something else than a database is refused, and the file stays as it is", async () => {
    const path = `${await temporaryFolder()}/notes.txt`;
    const { readFile, writeFile } = await import("node:fs/promises");
    await writeFile(path, "notes ".repeat(500));
    const store = sqliteStore({ path });
    await expect(store.open?.()).rejects.toMatchObject({ failure: "damaged" });
    expect(await readFile(path, "utf8")).toBe("notes ".repeat(500));
    await store.close();
  });
});

describe("a file that another connection has locked", () => {
  async function locked(busyTimeoutMs: number) {
    const path = `${await temporaryFolder()}/tasks.db`;
    const store = sqliteStore({ path, busyTimeoutMs });
    const head = await store.create(newTask());
    const other = new DatabaseSync(path);
    other.exec("begin exclusive");
    return { store, head, other };
  }

  it("a locked file of SQLite fails writes after the time limit, and serves reads", async () => {
    const { store, head, other } = await locked(20);
    const failed = { failure: "locked", message: expect.stringMatching(/^the database is locked/) };
    await expect(store.append(appendTo(head))).rejects.toMatchObject(failed);
    expect(await readHead(store, head)).toEqual(head);
    other.exec("commit");
    expect(await store.append(appendTo(head))).toBe("stored");
    other.close();
    await store.close();
  });

  it("a locked file of SQLite lets a write wait until it is free", async () => {
    const { store, head, other } = await locked(60_000);
    const writing = store.append(appendTo(head));
    other.exec("commit");
    expect(await writing).toBe("stored");
    other.close();
    await store.close();
  });
});

describe("the thread of a database", () => {
  it("the thread of a database fails its waiting calls when it ends, and a new one takes over", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    const thread = threadOf({ path, busyTimeoutMs: 300 });
    const store = createSqlStore(createRemoteBackend(thread));
    const head = await store.create(newTask());
    const other = new DatabaseSync(path);
    other.exec("begin exclusive");
    const writing = store.append(appendTo(head));
    const reading = store.head(alice, head.id);
    const ended = Promise.allSettled([writing, reading]);
    await thread.terminate();
    const gone = { failure: "unreachable", message: "the thread of the database has ended" };
    expect(await ended).toMatchObject([
      { status: "rejected", reason: gone },
      { status: "rejected", reason: gone },
    ]);
    other.exec("commit");
    expect(await readHead(store, head)).toEqual(head);
    expect(await store.append(appendTo(head))).toBe("stored");
    other.close();
    await store.close();
    expect(integrityOf(path)).toBe("ok");
  });

  it("the thread of a database in memory reports that it is gone, and starts no empty one in its place", async () => {
    const thread = threadOf({ path: ":memory:" });
    const store = createSqlStore(createRemoteBackend(thread));
    const head = await store.create(newTask());
    await thread.terminate();
    const gone = { failure: "unreachable", message: "the database was in memory, and has gone with its thread" };
    await expect(store.head(alice, head.id)).rejects.toMatchObject(gone);
    await expect(store.create(newTask())).rejects.toMatchObject(gone);
  });
});

describe("simultaneous writes", () => {
  it("simultaneous writes are flushed together, and a refused one fails alone", async () => {
    const thread = threadOf({ path: `${await temporaryFolder()}/tasks.db` });
    const requests: ThreadRequest[] = [];
    const ask = (request: ThreadRequest): Promise<unknown> => {
      requests.push(request);
      return thread.ask(request);
    };
    const store = createSqlStore(createRemoteBackend({ ask, close: () => thread.close() }));
    const { id } = await store.create(newTask());
    requests.length = 0;
    const first = store.renew("here", 1_000);
    const fresh = [newTask(), newTask(), newTask()];
    const creations = fresh.flatMap((task) => [store.create(task), store.create({ ...task, id })]);
    const results = await Promise.allSettled([first, ...creations, store.retire("here")]);
    const refused = { code: "internalError", message: `a task with the id ${id} exists` };
    expect(results.map(({ status }) => status === "rejected")).toEqual([
      false,
      ...[false, true, false, true, false, true],
      false,
    ]);
    for (const result of results) if (result.status === "rejected") expect(result.reason).toMatchObject(refused);
    // The renewal of a lease waits for nobody.
    expect(requests.map((request) => (request.kind === "group" ? request.writes.length : 0))).toEqual([0, 7]);
    expect((await store.list(alice, { limit: 10 })).total).toBe(4);
    await store.close();
  });
});
