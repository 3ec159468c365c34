import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { completed, memoryTaskStore, type Store, type Task } from "trivium";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { createSqlStore } from "../../../src/store/sql/task-store.js";
import { localSqliteBackend } from "../../../src/store/sqlite/database.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { errorOf, requestOf, say, taskOf } from "../../support/say.js";
import { overEach, type ServedAgent } from "../../support/serve-agent.js";
import { createVirtualClock, type VirtualClock } from "../../support/virtual-clock.js";
import { wiresThat } from "../../support/wires.js";

let databases: StoreDatabase;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "trivium-times-"));
  if (hasPostgres) databases = await createStoreDatabase();
}, startTimeoutMs);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;

const stores: Readonly<Record<string, (clock: VirtualClock) => Promise<Store | undefined>>> = {
  memory: async () => undefined,
  SQLite: async (clock) => {
    const options = { path: join(folder, `${++files}.db`), synchronous: "NORMAL" } as const;
    return createSqlStore(localSqliteBackend(options, clock.now), { clock });
  },
  PostgreSQL: async (clock) => {
    await databases.clear();
    return postgresStore({ url: databases.url, clock });
  },
};

/** Closes a store after the server. */
function closing(store: Store | undefined): AsyncDisposable {
  return { [Symbol.asyncDispose]: async () => store?.close() };
}

/** Three tasks, one millisecond apart. */
async function threeTasks({ client }: ServedAgent, clock: VirtualClock): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  for (let count = 0; count < 3; count++) {
    await clock.advance(1);
    tasks.push(taskOf(await client.sendMessage(say("go"), {})));
  }
  return tasks;
}

/** The status time of a task plus this many nanoseconds. */
function timeOf(task: Task | undefined, nanosLater: number): Timestamp {
  if (task?.status?.timestamp === undefined) throw new Error("the task has no time");
  const total = BigInt(timestampMs(task.status.timestamp)) * 1_000_000n + BigInt(nanosLater);
  return {
    $typeName: "google.protobuf.Timestamp",
    seconds: total / 1_000_000_000n,
    nanos: Number(total % 1_000_000_000n),
  };
}

describe.each(Object.keys(stores))("on the store: %s", (name) => {
  overEach(wiresThat("list tasks"), (start) => {
    it.skipIf(name === "PostgreSQL" && !hasPostgres)(
      "a list since a time in nanoseconds holds the tasks whose status is of that time or later",
      async () => {
        const clock = createVirtualClock();
        const store = await stores[name]?.(clock);
        await using _ = closing(store);
        await using served = await start({ clock, store, agent: async () => completed() });
        const tasks = await threeTasks(served, clock);
        const listAfter = async (nanosLater: number): Promise<readonly string[]> => {
          const statusTimestampAfter = timeOf(tasks[1], nanosLater);
          const page = await served.client.listTasks(requestOf("listTasks", { statusTimestampAfter }), {});
          expect(page.totalSize).toBe(page.tasks.length);
          return page.tasks.map(({ id }) => id);
        };
        const [first, second, third] = tasks.map(({ id }) => id);
        expect(await listAfter(-1)).toEqual([third, second]);
        expect(await listAfter(0)).toEqual([third, second]);
        expect(await listAfter(1)).toEqual([third]);
        expect(await listAfter(1_000)).toEqual([third]);
        expect(await listAfter(-999_999)).toEqual([third, second]);
        expect(await listAfter(-1_000_000)).toEqual([third, second, first]);
      },
    );
  });

  overEach(["HTTP+JSON"], (start) => {
    it.skipIf(name === "PostgreSQL" && !hasPostgres)(
      "a page token names a task of its caller and no number of the store, and survives a restart",
      async () => {
        const clock = createVirtualClock();
        const store = (await stores[name]?.(clock)) ?? memoryTaskStore();
        await using _ = closing(store);
        const options = { clock, store, agent: async () => completed() };
        await using served = await start(options);
        const [first, second, third] = await threeTasks(served, clock);
        const { nextPageToken } = await served.client.listTasks(requestOf("listTasks", { pageSize: 1 }), {});
        const shown = Buffer.from(nextPageToken, "base64url").toString();
        const own = [third?.id ?? "", String(timestampMs(timeOf(third, 0)))].reduce(
          (text, each) => text.replaceAll(each, ""),
          shown,
        );
        expect(shown.length - own.length).toBeGreaterThan(40);
        expect(own).not.toMatch(/[[,]\d/);
        await using replica = await start(options);
        const rest = await replica.client.listTasks(requestOf("listTasks", { pageToken: nextPageToken }), {});
        expect(rest.tasks.map(({ id }) => id)).toEqual([second?.id, first?.id]);
      },
    );

    it.skipIf(name === "PostgreSQL" && !hasPostgres)("a page token that was changed is refused", async () => {
      const clock = createVirtualClock();
      const store = (await stores[name]?.(clock)) ?? memoryTaskStore();
      await using _ = closing(store);
      await using served = await start({ clock, store, agent: async () => completed() });
      const [first, second] = await threeTasks(served, clock);
      const { nextPageToken } = await served.client.listTasks(requestOf("listTasks", { pageSize: 1 }), {});
      const text = Buffer.from(nextPageToken, "base64url").toString();
      const changed = [
        text.replace(/\d,/, "0.5,"),
        text.replace(/[0-9a-f-]{36}/, first?.id ?? ""),
        text.slice(0, -3),
        "[]",
      ];
      for (const each of [...changed, text.replace(/[0-9a-f-]{36}/, second?.id ?? "")]) {
        const pageToken = Buffer.from(each).toString("base64url");
        const error = await errorOf(served.client.listTasks(requestOf("listTasks", { pageToken }), {}));
        expect(error).toMatchObject({ code: "invalidParams", violations: [{ field: "pageToken" }] });
      }
    });
  });
});
