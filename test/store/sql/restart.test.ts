import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { Store } from "../../../src/core/ports.js";
import { TaskPushNotificationConfigSchema, TaskState } from "../../../src/protocol/model.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import {
  alice,
  appendTo,
  assertRecords,
  assertWhole,
  entry,
  events,
  message,
  newTask,
  plainEntry,
  readHead,
  status,
} from "../../../src/testing/contract/fixtures.js";
import { runSource } from "./source-process.js";
import { temporaryFolder } from "./temporary-folder.js";

async function inFile<T>(path: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = sqliteStore({ path });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

describe("a file of SQLite", () => {
  it("a file of SQLite holds tasks, with all that belongs to them, when it is opened again", async () => {
    const path = `${await temporaryFolder()}/made/on/the/way/tasks.db`;
    const head = await inFile(path, async (store) => {
      const inserted = await store.create(newTask({ id: "kept", name: "trip" }));
      await store.append(appendTo(inserted, { records: events(1, 3), ...status(TaskState.WORKING, 2_000, 4) }));
      await store.put(inserted.key, entry("waits"), 16);
      return readHead(store, inserted);
    });
    await inFile(path, async (store) => {
      expect(await store.head(alice, "kept")).toEqual(head);
      const task = await store.read(alice, "kept");
      expect(task).toBeDefined();
      if (task !== undefined) assertWhole(task, events(0, 4));
      expect(await store.taskNamed(alice, "trip")).toBe("kept");
      expect((await store.inbox(head.key)).entries.map(plainEntry)).toEqual([plainEntry(entry("waits"))]);
      expect((await store.list(alice, { limit: 10 })).total).toBe(1);
      expect(await store.append(appendTo(head))).toBe("stored");
    });
  });

  it("a file of SQLite keeps the records of idempotent sends, and push configurations", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    const ids = { messageId: "m", entry: "e", taskId: "t" };
    const config = create(TaskPushNotificationConfigSchema, { id: "p", url: "https://hook.example", token: "t0ken" });
    const registration = { key: 1, taskId: "t", scope: alice, config, cursor: 4, version: "x", holder: "" };
    const record = await inFile(path, async (store) => {
      await store.push?.set(registration, 5);
      const send = await store.beginSend({ scope: alice, digest: "d", seq: 0, instance: "here", ...ids });
      await store.settleSend(send, { kind: "reply", message: message("reply") }, 10);
      return store.readSend(alice, "m");
    });
    await inFile(path, async (store) => {
      expect(record).toMatchObject({ ...ids, attempt: 1, outcome: { kind: "reply" } });
      expect(await store.readSend(alice, "m")).toEqual(record);
      expect(await store.push?.list(1)).toEqual([registration]);
    });
  });

  it("a file of SQLite is shared by two stores, and each sees the acknowledged writes of the other", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    await inFile(path, (one) =>
      inFile(path, async (other) => {
        const head = await one.create(newTask());
        expect(await other.head(alice, head.id)).toEqual(head);
        const [here, there] = await Promise.all([one.append(appendTo(head)), other.append(appendTo(head))]);
        expect([here, there].toSorted()).toEqual(["fenced", "stored"]);
        expect((await readHead(one, head)).seq).toBe(2);
      }),
    );
  });

  it("a file of SQLite holds the acknowledged writes of a process killed in the middle of more", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    const process = runSource("writing-process.ts", path, "theirs");
    for (let lines = 0; lines < 30; lines += 1) await process.line();
    process.kill();
    const expectedCount = Number((await process.rest()).at(-1) ?? 30);
    expect(await process.end).toBe("SIGKILL");
    await inFile(path, async (store) => {
      const task = await store.read(alice, "theirs");
      expect(task?.head.seq).toBeGreaterThanOrEqual(expectedCount);
      if (task !== undefined) assertRecords(task.records, events(0, task.head.seq));
    });
  });

  it("a file of SQLite does not keep an idle process alive", async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    const process = runSource("writing-process.ts", path, "theirs", "3");
    expect(await process.rest()).toEqual(["1", "2", "3", "4"]);
    expect(await process.end).toBe(0);
    expect((await inFile(path, (store) => store.head(alice, "theirs")))?.seq).toBe(4);
  });
});
