import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  type AgentServer,
  artifact,
  Client,
  createAgent,
  memoryTaskStore,
  park,
  type Store,
  serve,
  working,
} from "trivium";
import { postgresStore } from "trivium/postgres";
import { sqliteStore } from "trivium/sqlite";
import { afterAll, beforeAll, describe, type ExpectStatic, expect, it } from "vitest";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import { anonymous } from "../../../src/server/authentication.js";
import { processSignals } from "../../../src/signals/in-process.js";
import { connectTo } from "../../../src/testing/connect-to.js";
import { webhook } from "../../push/receiver.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { errorOf, linesOf, requestOf, say, stateOf, taskOf, textIn } from "../../support/say.js";

// Two agents in separate processes, with the same callers, keep their tasks in one database.

const card = { name: "Tested", description: "Does what the test says", version: "1.0.0" };
const forEver = new Promise<never>(() => {});
const now = { configuration: { returnImmediately: true } };
const scopeOf = (agent: string) => ({ agent, tenant: "", owner: anonymous.owner });

/** An agent that answers with its name and records its turns. `hang` never ends; `park` is due immediately. */
function agentNamed(name: string) {
  const turns: string[] = [];
  const agent: Agent = async function* ({ text, cause, principal }) {
    turns.push(`${cause} ${text} ${Object.keys(principal).join()}`);
    yield working();
    if (cause === "message" && text === "hang") await forEver;
    if (cause === "message" && text === "park") yield park({ wakeAt: 1 });
    else yield artifact(name);
  };
  return { agent, turns };
}

/** The store of a process that dies: after that, or after it parked a task, no call is answered. */
function mortal(store: Store): { readonly store: Store; die(): void } {
  let dead = false;
  const guarded = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...args: readonly unknown[]) => {
        if (dead) return forEver;
        const answer: unknown = await Reflect.apply(member, target, args);
        dead ||= parks(args[0]);
        return dead ? forEver : answer;
      };
    },
  });
  return {
    store: guarded,
    die() {
      dead = true;
    },
  };
}

function parks(write: unknown): boolean {
  if (typeof write !== "object" || write === null || !("end" in write)) return false;
  return typeof write.end === "object" && write.end !== null && "park" in write.end && write.end.park !== undefined;
}

interface Kind {
  readonly name: string;
  readonly skipped: boolean;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** A place for the tasks of one test; returns a function that opens it, once for each process. */
  make(): Promise<() => Store>;
}

function kinds(): readonly Kind[] {
  let empty: StoreDatabase | undefined;
  let folder = "";
  let files = 0;
  return [
    {
      name: "in memory",
      skipped: false,
      start: async () => {},
      stop: async () => {},
      async make() {
        const store = memoryTaskStore();
        return () => store;
      },
    },
    {
      name: "SQLite",
      skipped: false,
      async start() {
        folder = mkdtempSync(join(tmpdir(), "trivium-agents-"));
      },
      stop: async () => rmSync(folder, { recursive: true, force: true }),
      async make() {
        files += 1;
        const path = join(folder, `${files}.db`);
        return () => sqliteStore({ path });
      },
    },
    {
      name: "PostgreSQL",
      skipped: !hasPostgres,
      async start() {
        empty = await createStoreDatabase();
      },
      stop: async () => {},
      async make() {
        if (empty === undefined) throw new Error("PostgreSQL has not been started");
        const url = await empty.server.createDatabase(empty.url);
        return () => postgresStore({ url });
      },
    },
  ];
}

interface Scene extends AsyncDisposable {
  /** A store beside those of the agents. */
  readonly spare: Store;
  host(agentId: string): Promise<{ client: Client; server: AgentServer; turns: string[] }>;
  /** A task of a process that died while working on it, or after parking it. */
  leftBehind(agentId: string, text: "hang" | "park"): Promise<string>;
}

/** Of one case, whose `expect` it polls with. */
async function scene(kind: Kind, expect: ExpectStatic): Promise<Scene> {
  const open = await kind.make();
  const ends: (() => Promise<void>)[] = [];

  function opened(): Store {
    const store = open();
    ends.push(() => store.close());
    return store;
  }

  const spare = opened();
  return {
    spare,
    async host(agentId) {
      const { agent, turns } = agentNamed(agentId);
      const push = { allow: "loopback" } as const;
      const own = { agentId, agent, store: opened(), restartable: true, push };
      const server = await serve({ card, ...own, port: 0, drainMs: 0, limits: { heartbeatMs: 50, graceMs: 0 } });
      const client = await Client.connect(server.url);
      ends.push(async () => {
        await client.close();
        await server.close();
      });
      return { client, server, turns };
    },
    async leftBehind(agentId, text) {
      const { store, die } = mortal(spare);
      const { agent } = agentNamed(agentId);
      const client = await connectTo(await createAgent({ card, agentId, agent, store, restartable: true }));
      const answer = client.sendMessage(say(text, now));
      answer.catch(() => {});
      const stands = async () => (await spare.list(scopeOf(agentId), { limit: 1 })).tasks[0]?.head;
      await expect.poll(async () => (await stands())?.state).toBe(2);
      if (text === "park") await expect.poll(async () => (await stands())?.wakeAt).toBe(1);
      die();
      const head = await stands();
      if (head === undefined) throw new Error("no task was left behind");
      if (head.holder !== "") await spare.retire(head.holder);
      return head.id;
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends.toReversed()) await end();
    },
  };
}

for (const kind of kinds()) {
  describe.skipIf(kind.skipped)(`two agents on one store, ${kind.name}`, { concurrent: true }, () => {
    beforeAll(kind.start, startTimeoutMs);
    afterAll(kind.stop);

    it("two agents on one store list, read, follow and change only their own tasks", async ({ expect }) => {
      await using at = await scene(kind, expect);
      const [a, b] = [await at.host("a"), await at.host("b")];
      const done = taskOf(await a.client.sendMessage(say("hi")));
      const running = taskOf(await a.client.sendMessage(say("hang", now)));
      for (const kindOf of ["moved", "inbox"] as const) processSignals.publish({ kind: kindOf, taskId: running.id });
      expect((await b.client.listTasks({})).tasks).toEqual([]);
      expect((await b.client.listTasks({ contextId: done.contextId })).totalSize).toBe(0);
      for (const { id } of [done, running]) {
        const calls = [
          () => b.client.getTask({ id }),
          () => b.client.cancelTask({ id }),
          () => b.client.sendMessage(say("more", { taskId: id })),
          () => linesOf(b.client.sendStreamingMessage(say("more", { taskId: id }))),
          () => linesOf(b.client.subscribeToTask(requestOf("subscribeToTask", { id }))),
          () => b.client.listTaskPushNotificationConfigs({ taskId: id }),
          () => b.server.tasks.wake(id),
        ];
        for (const call of calls) expect((await errorOf(call())).code).toBe("taskNotFound");
      }
      expect(b.turns).toEqual([]);
      expect((await a.client.listTasks({})).totalSize).toBe(2);
      // The answer comes after two polls at the latest, on a busy machine before the end.
      await a.client.cancelTask({ id: running.id });
      await expect.poll(async () => stateOf(await a.client.getTask({ id: running.id }))).toBe("CANCELED");
    });

    it("two agents on one store refuse each other's page tokens", async ({ expect }) => {
      await using at = await scene(kind, expect);
      const [a, b] = [await at.host("a"), await at.host("b")];
      for (const { client } of [a, a, b, b]) await client.sendMessage(say("hi"));
      const { nextPageToken: pageToken } = await a.client.listTasks({ pageSize: 1 });
      expect((await a.client.listTasks({ pageSize: 1, pageToken })).tasks).toHaveLength(1);
      expect((await errorOf(b.client.listTasks({ pageSize: 1, pageToken }))).code).toBe("invalidParams");
    });

    it("two agents on one store each make a task of the same message", async ({ expect }) => {
      await using at = await scene(kind, expect);
      const [a, b] = [await at.host("a"), await at.host("b")];
      const once = { extensions: [idempotentSendExtension] };
      const request = say("hi", { messageId: "the same" });
      const tasks = [];
      for (const { client } of [a, b, a, b]) tasks.push(taskOf(await client.sendMessage(request, once)));
      expect(tasks.map(({ artifacts }) => textIn(artifacts[0]?.parts))).toEqual(["a", "b", "a", "b"]);
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(2);
      expect([a.turns.length, b.turns.length]).toEqual([1, 1]);
    });

    it("two agents on one store re-run only their own orphaned tasks, each for its caller", async ({ expect }) => {
      await using at = await scene(kind, expect);
      const left = await at.leftBehind("a", "hang");
      await at.leftBehind("b", "hang");
      const before = await at.spare.head(scopeOf("a"), left);
      const b = await at.host("b");
      // The oldest orphans would be taken over first.
      await expect.poll(() => b.turns).toEqual(["restart hang tenant,owner"]);
      expect(await at.spare.head(scopeOf("a"), left)).toEqual(before);
      const a = await at.host("a");
      await expect.poll(() => a.turns).toEqual(["restart hang tenant,owner"]);
      await expect.poll(async () => stateOf(await a.client.getTask({ id: left }))).toBe("COMPLETED");
      expect(textIn((await a.client.getTask({ id: left })).artifacts[0]?.parts)).toBe("a");
      expect(b.turns).toHaveLength(1);
    });

    it("two agents on one store wake only their own parked tasks", async ({ expect }) => {
      await using at = await scene(kind, expect);
      const left = await at.leftBehind("a", "park");
      await at.leftBehind("b", "park");
      const before = await at.spare.head(scopeOf("a"), left);
      const b = await at.host("b");
      await expect.poll(() => b.turns).toEqual(["wake park tenant,owner"]);
      expect(await at.spare.head(scopeOf("a"), left)).toEqual(before);
      const a = await at.host("a");
      await expect.poll(() => a.turns).toEqual(["wake park tenant,owner"]);
      expect(b.turns).toHaveLength(1);
    });

    it("two agents on one store take over only their own push deliveries", async ({ expect }) => {
      await using at = await scene(kind, expect);
      await using hook = await webhook();
      const store = at.spare.push;
      if (store === undefined) throw new Error("the store keeps no push configurations");
      const keys: number[] = [];
      for (const agentId of ["a", "b"]) {
        const left = await at.spare.head(scopeOf(agentId), await at.leftBehind(agentId, "hang"));
        if (left === undefined) throw new Error("no task was left behind");
        const { key, id: taskId, scope, version } = left;
        const config = requestOf("createTaskPushNotificationConfig", {
          taskId,
          id: "p",
          url: `${hook.url}/${agentId}`,
        });
        await store.set({ key, taskId, scope, config, cursor: 0, version, holder: "" }, 5);
        keys.push(key);
      }
      const paths = () => [...new Set(hook.calls.map(({ path }) => path))];
      await at.host("b");
      await expect.poll(paths).toEqual(["/hook/b"]);
      expect(await store.get(keys[0] ?? 0, "p")).toMatchObject({ holder: "", cursor: 0 });
      await at.host("a");
      await expect.poll(paths).toEqual(["/hook/b", "/hook/a"]);
    });
  });
}

describe("an agentId", () => {
  it("an agentId that is too long to store fails at startup, with the limit", async () => {
    const { agent } = agentNamed("long");
    const serving = serve({ card, agent, agentId: "\u6f22".repeat(22), port: 0 });
    await expect(serving).rejects.toThrow(new TypeError("agentId has 66 bytes, the limit is 64: choose a shorter one"));
  });
});
