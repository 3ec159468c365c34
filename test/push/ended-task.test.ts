import { artifact, completed, type Store, serve, type Turn } from "trivium";
import { beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { temporaryFolder } from "../store/sql/temporary-folder.js";
import { hasPostgres, startTimeoutMs } from "../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../support/postgres-databases.js";
import { requestOf, say, taskOf } from "../support/say.js";
import { webhook } from "./receiver.js";

const card = { name: "Clerk", description: "Writes a report", version: "1.0.0" };

async function* clerk({ text }: Turn) {
  if (text === "write") yield artifact("one", { artifactId: "report", lastChunk: true });
  yield completed();
}

let postgres: StoreDatabase | undefined;
beforeAll(async () => {
  if (hasPostgres) postgres = await createStoreDatabase();
}, startTimeoutMs);

/** Returns functions that open the same place repeatedly. Everything but the memory store keeps its content. */
const places: Readonly<Record<string, () => Promise<() => Store>>> = {
  memory: async () => () => memoryTaskStore(),
  SQLite: async () => {
    const path = `${await temporaryFolder()}/tasks.db`;
    return () => sqliteStore({ path });
  },
  ...(hasPostgres ? { PostgreSQL: async () => () => postgresStore({ url: postgres?.url ?? "" }) } : {}),
};

async function startAgent(store: Store) {
  const server = await serve({ card, agent: clerk, port: 0, drainMs: 0, store, push: { allow: "loopback" } });
  const client = await Client.connect(server.url, { cardCache: false });
  return {
    client: client.operations,
    store,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
      await store.close();
    },
  };
}

type Operations = Client["operations"];

const late = (taskId: string, url: string, id: string) =>
  requestOf("createTaskPushNotificationConfig", { taskId, id, url });

async function idsOf(client: Operations, taskId: string): Promise<readonly string[]> {
  const { configs } = await client.listTaskPushNotificationConfigs(
    requestOf("listTaskPushNotificationConfigs", { taskId }),
    {},
  );
  return configs.map(({ id }) => id);
}

describe.each(Object.entries(places))("an ended task, stored in %s", (name, place) => {
  const lasts = name !== "memory";

  it("an ended task accepts, changes and deletes configurations, and no process calls their webhooks", async () => {
    const open = await place();
    await using hook = await webhook();
    let taskId = "";
    {
      await using agent = await startAgent(open());
      const { client } = agent;
      taskId = taskOf(await client.sendMessage(say("write"), {})).id;
      for (const id of ["a", "b", "a"]) await client.createTaskPushNotificationConfig(late(taskId, hook.url, id), {});
      expect(await idsOf(client, taskId)).toEqual(["a", "b"]);
      await client.deleteTaskPushNotificationConfig(
        requestOf("deleteTaskPushNotificationConfig", { taskId, id: "b" }),
        {},
      );
      expect(await idsOf(client, taskId)).toEqual(["a"]);
    }
    if (lasts) {
      await using agent = await startAgent(open());
      expect(await idsOf(agent.client, taskId)).toEqual(["a"]);
    }
    expect(hook.calls).toEqual([]);
  });

  it("an ended task keeps the configuration of its last message, and delivers nothing more", async () => {
    const open = await place();
    await using hook = await webhook();
    let taskId = "";
    {
      await using agent = await startAgent(open());
      const configuration = { taskPushNotificationConfig: { id: "inline", url: hook.url } };
      taskId = taskOf(await agent.client.sendMessage(say("write", { configuration }), {})).id;
      await hook.untilReceived(2);
      expect(await idsOf(agent.client, taskId)).toEqual(["inline"]);
      await agent.client.createTaskPushNotificationConfig(late(taskId, `${hook.url}/other`, "late"), {});
    }
    if (lasts) {
      await using agent = await startAgent(open());
      expect(await idsOf(agent.client, taskId)).toEqual(["inline", "late"]);
    }
    expect(hook.labels).toEqual(["report=one!", "COMPLETED"]);
  });
});
