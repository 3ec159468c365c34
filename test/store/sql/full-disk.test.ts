import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Client } from "../../../src/client/node.js";
import { artifact } from "../../../src/protocol/events.js";
import { type SqliteStoreOptions, sqliteStore } from "../../../src/store/sqlite/index.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { errorOf, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { startAgent } from "../../support/serve-agent.js";
import { mayMount, mountDisk } from "../../support/small-disk.js";
import { temporaryFolder } from "./temporary-folder.js";

type Operations = Client["operations"];

/** Sends until the store is known to be full: then the agent does not start. Returns the tasks that were made. */
async function fill(client: Operations, started: () => number): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const before = started();
    const answer = await client.sendMessage(say("go"), {}).catch(() => undefined);
    if (answer !== undefined) ids.push(taskOf(answer).id);
    else if (started() === before) return ids;
  }
}

interface Scene {
  readonly folder: string;
  readonly options?: Partial<SqliteStoreOptions>;
  /** Makes room. */
  readonly free: () => Promise<void>;
}

/** Fills the place of a SQLite file, and checks what callers see before and after there is room again. */
async function expectRefusals({ folder, options, free }: Scene): Promise<void> {
  const store = sqliteStore({ path: `${folder}/tasks.db`, ...options });
  let started = 0;
  await using served = await startAgent("JSONRPC", {
    store,
    limits: { storeWaitMs: 200, storeRetryMs: 500, heartbeatMs: 500 },
    async *agent() {
      started += 1;
      yield artifact("x".repeat(50_000));
    },
  });
  const { client } = served;
  const ids = await fill(client, () => started);
  const before = started;
  expect(await errorOf(client.sendMessage(say("go"), {}))).toMatchObject({ code: "unavailable", retryAfterMs: 1000 });
  expect(started).toBe(before);
  const [id = ""] = ids;
  expect(stateOf(await client.getTask(requestOf("getTask", { id }), {}))).toBe("COMPLETED");
  await free();
  const sendState = async () => stateOf(taskOf(await client.sendMessage(say("go"), {})));
  await expect.poll(() => sendState().catch(() => "refused"), { timeout: 10_000 }).toBe("COMPLETED");
  const messages = served.log.filter(({ level }) => level !== "debug").map(({ message }) => message);
  expect(messages.filter((line) => line === "the task store is full")).toHaveLength(1);
  expect(messages.filter((line) => line === "the task store is back")).toHaveLength(1);
  await store.close();
}

const title = "refuses sends before the agent starts, answers reads, and takes sends again once there is room";

it(`a SQLite file at its limit ${title}`, { timeout: 60_000 }, async () => {
  const clock = createTestClock();
  const retention = { tasksMs: 1000 };
  await expectRefusals({
    folder: await temporaryFolder(),
    options: { clock, retention, pruneEveryMs: 60_000, maxBytes: 1_000_000 },
    free: () => clock.advance(60_000),
  });
});

// Where no disk can be mounted, a file of limited size stands for one.
if (mayMount) {
  describe("a disk", () => {
    it(`a disk without room ${title}`, { timeout: 60_000 }, async () => {
      using disk = mountDisk(3 * 2 ** 20);
      const ballast = join(disk.folder, "ballast");
      writeFileSync(ballast, Buffer.alloc(2 ** 20));
      await expectRefusals({ folder: disk.folder, free: async () => rmSync(ballast) });
    });
  });
}
