import { DatabaseSync } from "node:sqlite";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LogBatchSchema } from "../../../gen/trivium/store/v1/store_pb.js";
import type { Head, LogRecord, Store } from "../../../src/core/ports.js";
import { type Artifact, TaskState } from "../../../src/protocol/model.js";
import { prune, resolveRetention } from "../../../src/store/sql/maintenance.js";
import { createSqlStore, type SqlStoreOptions } from "../../../src/store/sql/task-store.js";
import { localSqliteBackend } from "../../../src/store/sqlite/database.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { alice, appendTo, event, newTask, status } from "../../../src/testing/contract/fixtures.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { temporaryFolder } from "./temporary-folder.js";

const hour = 3_600_000;

/** A store in this thread, in a file that other connections may lock. */
async function localStore(options: SqlStoreOptions = {}) {
  const path = `${await temporaryFolder()}/tasks.db`;
  const clock = createTestClock();
  const backend = localSqliteBackend({ path, busyTimeoutMs: 10 }, clock.now);
  return { path, clock, backend, store: createSqlStore(backend, { clock, ...options }) };
}

/** A finished task. */
async function createFinished(store: Store): Promise<Head> {
  const head = await store.create(newTask());
  await store.append(appendTo(head, { ...status(TaskState.COMPLETED, 2_000, 2), end: { inboxPut: 0 } }));
  return head;
}

/** Makes the rows of the log those of an earlier release, which did not say whether first chunks are marked. */
function unmarkLog(path: string): void {
  const database = new DatabaseSync(path);
  const update = database.prepare("update trivium_log set payload = ? where key = ? and seq = ?");
  for (const row of database.prepare("select key, seq, payload from trivium_log").all()) {
    const { key = null, seq = null, payload: bytes } = row;
    if (!(bytes instanceof Uint8Array)) throw new TypeError("a row of the log without bytes");
    const batch = fromBinary(LogBatchSchema, bytes);
    update.run(toBinary(LogBatchSchema, { ...batch, hasFirstChunks: false }), key, seq);
  }
  database.close();
}

describe("a SQL store", () => {
  it("a SQL store is opened once, by the first call", async () => {
    const { backend } = await localStore();
    let opened = 0;
    const countingBackend = {
      ...backend,
      open: () => {
        opened += 1;
        return backend.open();
      },
    };
    const store = createSqlStore(countingBackend);
    await Promise.all([store.head(alice, "none"), store.open?.(), store.create(newTask()), store.push?.list(1)]);
    await store.open?.();
    expect(opened).toBe(1);
    await store.close();
  });

  it("a SQL store marks the first chunk of an artifact in an older log, wherever reading begins", async () => {
    const { path, store } = await localStore();
    const other = (seq: number): LogRecord => {
      const record = event(seq);
      if (record.kind === "event" && record.event.payload.case === "artifactUpdate")
        record.event.payload.value.artifact = { ...record.event.payload.value.artifact, artifactId: "b" } as Artifact;
      return record;
    };
    const head = await store.create(newTask());
    await store.append(appendTo(head, { records: [event(2), event(3)] }));
    await store.append(appendTo({ ...head, seq: 3 }, { records: [other(4), event(5), other(6)] }));
    const appends = async (after: number) => {
      const page = await store.recordsAfter(head.key, after, 100);
      if (page === undefined || page === "compacted") throw new TypeError("no records");
      return page.records.map((record) =>
        record.kind === "event" && record.event.payload.case === "artifactUpdate"
          ? record.event.payload.value.append
          : undefined,
      );
    };
    // This release wrote what it was given.
    expect(await appends(0)).toEqual(Array(6).fill(true));
    unmarkLog(path);
    expect(await appends(0)).toEqual([false, true, true, false, true, true]);
    expect(await appends(1)).toEqual([true, true, false, true, true]);
    expect(await appends(4)).toEqual([true, true]);
    await store.close();
  });

  it("a SQL store retries a failed open", async () => {
    const { path, store } = await localStore();
    const other = new DatabaseSync(path);
    other.exec("begin exclusive");
    await expect(store.open?.()).rejects.toMatchObject({ failure: "locked" });
    other.exec("commit");
    other.close();
    await store.open?.();
    expect((await store.list(alice, { limit: 1 })).total).toBe(0);
    await store.close();
  });

  it("a SQL store refuses calls once closed, and answers earlier ones", async () => {
    const store = sqliteStore({ path: `${await temporaryFolder()}/tasks.db` });
    const creating = store.create(newTask());
    await creating;
    const writing = store.create(newTask());
    const closing = store.close();
    const closed = { code: "unavailable", message: "the task store is closed" };
    await expect(store.create(newTask())).rejects.toMatchObject(closed);
    await expect(store.heads([1])).rejects.toMatchObject(closed);
    await expect(store.push?.list(1)).rejects.toMatchObject(closed);
    await expect(store.open?.()).rejects.toMatchObject(closed);
    expect((await writing).seq).toBe(1);
    await closing;
    await store.close();
  });

  it("a SQL store may be closed without ever having been used", async () => {
    const folder = await temporaryFolder();
    const store = sqliteStore({ path: `${folder}/tasks.db` });
    await store.close();
    await expect(store.head(alice, "none")).rejects.toMatchObject({ code: "unavailable" });
  });

  it("a SQL store keeps finished tasks without end on request", () => {
    expect(resolveRetention({ tasksMs: Infinity }).tasksMs).toBeUndefined();
  });
});

describe("a finished task", () => {
  it("a finished task loses its log after a day and is dropped after 30, by default", async () => {
    const { clock, store } = await localStore({ pruneEveryMs: hour });
    const head = await createFinished(store);
    const running = await store.create(newTask());
    await clock.advance(23 * hour);
    expect(await store.recordsAfter(head.key, 0, 10)).toMatchObject({ records: [{ seq: 1 }, { seq: 2 }] });
    await clock.advance(hour + 1);
    await expect.poll(() => store.recordsAfter(head.key, 0, 10)).toBe("compacted");
    expect(await store.read(alice, head.id)).toMatchObject({ snapshot: { seq: 2 }, records: [] });
    await clock.advance(29 * 24 * hour);
    await expect.poll(() => store.read(alice, head.id)).toBeUndefined();
    expect(await store.head(alice, running.id)).toBeDefined();
    await store.close();
  });

  it("a finished task is dropped later if one round has failed, which is logged", async () => {
    const { log, logger } = recordingLogger();
    const { path, clock, store } = await localStore({ logger, retention: { tasksMs: 0 }, pruneEveryMs: 1_000 });
    const { id } = await createFinished(store);
    const other = new DatabaseSync(path);
    other.exec("begin exclusive");
    await clock.advance(1_000);
    const line = { level: "warn", message: "finished tasks could not be dropped from the store" };
    await expect.poll(() => log).toContainEqual(expect.objectContaining(line));
    expect(await store.head(alice, id)).toBeDefined();
    other.exec("commit");
    other.close();
    await clock.advance(1_000);
    await expect.poll(() => store.head(alice, id)).toBeUndefined();
    await store.close();
    expect(clock.pending()).toEqual([]);
  });

  it("finished tasks are dropped in batches, between which other work runs", async () => {
    const { clock, backend, store } = await localStore();
    for (let index = 0; index < 20; index += 1) await createFinished(store);
    const order: string[] = [];
    const retention = resolveRetention({ tasksMs: 0 });
    await clock.advance(1);
    const pruning = prune(backend, retention, { batch: 2 }).then((dropped) => {
      order.push("pruned");
      return dropped;
    });
    const writing = store.create(newTask()).then(() => order.push("written"));
    expect((await pruning).tasks).toBe(20);
    await writing;
    expect(order).toEqual(["written", "pruned"]);
    expect((await store.list(alice, { limit: 5 })).total).toBe(1);
    await store.close();
  });

  it("a finished task stays when pruning is given up between two batches", async () => {
    const { clock, backend, store } = await localStore();
    for (let index = 0; index < 6; index += 1) await createFinished(store);
    await clock.advance(1);
    const end = new AbortController();
    const once: Pick<typeof backend, "prune"> = {
      prune: (retention, limit) => {
        end.abort();
        return backend.prune(retention, limit);
      },
    };
    const dropped = await prune(once, resolveRetention({ tasksMs: 0 }), { batch: 2, signal: end.signal });
    expect(dropped.tasks).toBeLessThanOrEqual(2);
    expect((await store.list(alice, { limit: 5 })).total).toBe(6 - dropped.tasks);
    await store.close();
  });
});
