import { expect, it } from "vitest";
import type { Client } from "../../../src/client/node.js";
import { artifact } from "../../../src/protocol/events.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { errorOf, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { startAgent } from "../../support/serve-agent.js";
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

it("a SQLite file without room refuses sends before the agent starts, answers reads, and takes sends again after tasks were dropped", async () => {
  const path = `${await temporaryFolder()}/tasks.db`;
  const clock = createTestClock();
  const store = sqliteStore({
    path,
    clock,
    retention: { tasksMs: 1000 },
    pruneEveryMs: 60_000,
    maxBytes: 1_000_000,
  });
  let started = 0;
  await using served = await startAgent("JSONRPC", {
    store,
    limits: { storeWaitMs: 200, heartbeatMs: 500 },
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
  await clock.advance(60_000);
  const sent = async () => stateOf(taskOf(await client.sendMessage(say("go"), {})));
  await expect.poll(() => sent().catch(() => "refused"), { timeout: 10_000 }).toBe("COMPLETED");
  const said = served.log.filter(({ level }) => level !== "debug").map(({ message }) => message);
  expect(said.filter((line) => line === "the task store is full")).toHaveLength(1);
  expect(said.filter((line) => line === "the task store is back")).toHaveLength(1);
  await store.close();
}, 60_000);
