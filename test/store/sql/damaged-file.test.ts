import { artifact, serve } from "trivium";
import { expect, it } from "vitest";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { connectInProcess } from "../../../src/testing/connect-to.js";
import { damagePage } from "../../support/damage.js";
import { rawCall } from "../../support/http-agent.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { errorOf, requestOf, say, stateOf, taskOf } from "../../support/say.js";
import { temporaryFolder } from "./temporary-folder.js";

// A file with overwritten pages opens, and renews leases, and fails the calls that meet them.

async function startOn(path: string) {
  const { log, logger } = recordingLogger();
  const store = sqliteStore({ path });
  const server = await serve({
    card: { name: "Tested", description: "Does what the test says", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    logger,
    store,
    limits: { heartbeatMs: 100, storeWaitMs: 100, storeRetryMs: 100, storeOutageMs: 300 },
    async *agent({ text }) {
      yield artifact(text);
    },
  });
  const client = await connectInProcess({ card: server.card, inProcess: server.inProcess }, { retry: false });
  return {
    log,
    send: () => client.operations.sendMessage(say("go"), {}),
    get: (id: string) => client.operations.getTask(requestOf("getTask", { id }), {}),
    readiness: async () => (await rawCall(`${server.url}/readyz`, { method: "GET" })).status,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
      await store.close();
    },
  };
}

const broken = "the task store fails calls, although it takes small writes";

it.each([
  ["the index that sends write", "trivium_tasks_id", "send"],
  ["the index that reads search", "trivium_tasks_id", "get"],
  ["the logs, which sends write", "trivium_log", "send"],
  ["the snapshots, which reads join", "trivium_snapshots", "get"],
] as const)(
  "a server whose file is damaged in %s is not ready while calls fail, and says so in one error record",
  async (_, name, call) => {
    const path = `${await temporaryFolder()}/tasks.db`;
    let id = "";
    {
      await using served = await startOn(path);
      id = taskOf(await served.send()).id;
      for (let count = 0; count < 20; count += 1) await served.send();
      expect(await served.readiness()).toBe(200);
    }
    damagePage(path, name);
    await using served = await startOn(path);
    expect(await served.readiness()).toBe(200);
    const calls = { send: () => served.send(), get: () => served.get(id) };
    await expect
      .poll(
        async () => {
          expect(await errorOf(calls[call]())).toMatchObject({ code: "unavailable" });
          return served.readiness();
        },
        { timeout: 20_000 },
      )
      .toBe(503);
    const errors = served.log.filter(({ level }) => level === "error");
    expect(errors).toMatchObject([{ message: broken, fields: { err: { failure: "damaged" } } }]);
  },
);

it("a server whose file is whole stays ready", async () => {
  const path = `${await temporaryFolder()}/tasks.db`;
  await using served = await startOn(path);
  for (let count = 0; count < 20; count += 1) expect(stateOf(taskOf(await served.send()))).toBe("COMPLETED");
  expect(await served.readiness()).toBe(200);
  expect(served.log.filter(({ level }) => level === "error")).toEqual([]);
});
