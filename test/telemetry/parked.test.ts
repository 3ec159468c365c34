import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type AgentOptions,
  type AgentServer,
  authRequired,
  completed,
  inputRequired,
  park,
  type Store,
  serve,
  working,
} from "trivium";
import { beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import { memoryTaskStore } from "../../src/store/memory/task-store.js";
import { postgresStore } from "../../src/store/postgres/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { around } from "../support/fault-store.js";
import { type StartedMetrics, startMetrics } from "../support/metric-values.js";
import { hasPostgres, sharedPostgres, startTimeoutMs } from "../support/postgres.js";
import { amountOf, type ServedMetrics, serveMetrics } from "../support/served-metrics.js";

/** Ends its turn as its message says, or with an answer. */
const agent: AgentOptions["agent"] = async function* ({ text, cause }) {
  if (cause === "wake") return yield completed("woken");
  if (text === "until a time") return yield park({ wakeAt: Date.UTC(9999, 0, 1) });
  yield working();
  if (text === "until a wake") yield park();
  else if (text === "question") yield inputRequired("what?");
  else if (text === "sign in") yield authRequired("who?");
  else yield completed("done");
};
const texts = ["until a time", "until a time", "until a wake", "question", "sign in", "answer", "answer"];

/** Sends without waiting for the end of a task, and returns once its turn has ended. */
async function sendAll({ client, scrape }: ServedMetrics): Promise<readonly string[]> {
  const sends = texts.map((text) => client.send(text, { configuration: { returnImmediately: true } }));
  const ids = (await Promise.all(sends)).map(({ taskId = "" }) => taskId);
  await expect.poll(async () => turnsEnded(await scrape())).toBe(texts.length);
  return ids;
}

function turnsEnded(text: string): number {
  const counts = text.matchAll(/^gen_ai_invoke_agent_duration_count\{[^}]*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

const parkedIn = (text: string): readonly (number | undefined)[] =>
  ["time", "call"].map((what) => amountOf(text, "trivium_tasks_parked", `trivium_parked_until="${what}"`));

beforeAll(async () => {
  if (hasPostgres) await sharedPostgres();
}, startTimeoutMs);

describe("the gauge of parked tasks", () => {
  const stores: readonly (readonly [string, boolean, () => Store | Promise<Store>])[] = [
    ["in memory", true, () => memoryTaskStore()],
    ["on SQLite", true, () => sqliteStore({ path: ":memory:" })],
    ["on PostgreSQL", hasPostgres, async () => postgresStore({ url: await (await sharedPostgres()).createDatabase() })],
  ];
  for (const [where, isThere, open] of stores) {
    it.skipIf(!isThere)(
      `the gauge of parked tasks counts tasks ${where} that wait for a time or a call, in any process`,
      async () => {
        const store = await open();
        await using first = await serveMetrics({ agent, store });
        await using other = await serveMetrics({ agent, store });
        const ids = await sendAll(other);
        expect(parkedIn(await first.scrape())).toEqual([2, 3]);
        await first.server.tasks.wake(ids[2] ?? "");
        await expect.poll(async () => (await other.client.getTask({ id: ids[2] ?? "" })).status?.state).toBe(3);
        await using third = await serveMetrics({ agent, store });
        expect(parkedIn(await third.scrape())).toEqual([2, 2]);
        await store.close();
      },
    );
  }

  it("the gauge of parked tasks is missing while the store does not answer, unlike other metrics", async () => {
    const store = around(memoryTaskStore(), async ({ method }, go) => {
      if (method === "parked") throw new Error("the store is away");
      return go();
    });
    await using here = await serveMetrics({ agent, store });
    await here.client.send("answer");
    expect(parkedIn(await here.scrape())).toEqual([undefined, undefined]);
    // The answer comes a moment before the end of its turn.
    const running = async () => amountOf(await here.scrape(), "trivium_turns", 'trivium_turn_state="running"');
    await expect.poll(running).toBe(0);
  });
});

/**
 * Waits until so many tasks of each store wait for a call. A send returns with the question, a moment before its turn gives the
 * task back, and a gauge keeps its count for ten seconds.
 */
async function untilParked(stores: readonly Store[], counts: readonly number[], agentId = ""): Promise<void> {
  const untimed = () => Promise.all(stores.map(async (store) => (await store.parked(agentId)).untimed));
  await expect.poll(untimed).toEqual(counts);
}

describe("two servers of one agent in a process", () => {
  const open = (store: Store) =>
    serve({ card: { name: "Pair", description: "d", version: "1" }, agent, port: 0, logger: false, store });
  const parkedUntilCalled = async (metrics: StartedMetrics) => {
    const all = (await metrics.of("trivium.tasks.parked")).filter(
      ({ attributes }) => attributes["gen_ai.agent.name"] === "Pair" && attributes["trivium.parked.until"] === "call",
    );
    return all.map(({ value }) => value);
  };
  const ask = async ({ url }: AgentServer) => {
    await using client = await Client.connect(url);
    await client.send("question");
  };

  it.skipIf(!hasPostgres)(
    "two servers of one agent count parked tasks of one PostgreSQL once, whatever their stores call it",
    async () => {
      const database = new URL(await (await sharedPostgres()).createDatabase());
      const alias = new URL(database);
      alias.searchParams.set("application_name", "other");
      const other = await (await sharedPostgres()).createDatabase();
      await countsOnce([String(database), String(alias), other].map((url) => postgresStore({ url })));
    },
  );

  it("two servers of one agent count parked tasks of one SQLite file once, whatever their stores call it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "trivium-parked-"));
    await symlink(folder, `${folder}-link`);
    await countsOnce([`${folder}/a.db`, `${folder}-link/a.db`, `${folder}/b.db`].map((path) => sqliteStore({ path })));
    await rm(`${folder}-link`);
    await rm(folder, { recursive: true });
  });

  /** Asks three questions over stores of which the first two are on one database. */
  async function countsOnce(stores: readonly Store[]): Promise<void> {
    await using metrics = await startMetrics();
    const servers = [];
    for (const store of stores) servers.push(await open(store));
    for (const server of servers) await ask(server);
    await untilParked(stores, [2, 2, 1]);
    expect(await parkedUntilCalled(metrics)).toEqual([3]);
    for (const server of servers) await server.close();
    for (const store of stores) await store.close();
  }

  it("two servers of one agent count parked tasks of one store once, and those of two stores together", async () => {
    await using metrics = await startMetrics();
    const [store, other] = [memoryTaskStore(), memoryTaskStore()];
    await using first = await open(store);
    await using second = await open(store);
    await using apart = await open(other);
    for (const server of [first, second, apart]) await ask(server);
    await untilParked([store, other], [2, 1]);
    expect(await parkedUntilCalled(metrics)).toEqual([3]);
  });
});

describe("an agent that was replaced", () => {
  it("the parked tasks of a replaced agent are counted once, also while its last stream is open", async () => {
    await using metrics = await startMetrics();
    const card = { name: "Twice", description: "d", version: "1" };
    const end = Promise.withResolvers<void>();
    const first: AgentOptions["agent"] = async function* ({ text }) {
      yield working();
      if (text === "park") return yield park();
      await end.promise;
    };
    const store = memoryTaskStore();
    await using server = await serve({ port: 0, logger: false, store, agents: { "/twice": { card, agent: first } } });
    const client = await Client.connect(`${server.url}/twice`);
    await client.send("park", { configuration: { returnImmediately: true } });
    await untilParked([store], [1], "twice");
    const events = client.stream("hold")[Symbol.asyncIterator]();
    await events.next();
    await expect.poll(() => valuesOf("trivium.turns")).toContainEqual(["running", 1]);
    await server.agents.set("/twice", { card, agent: async () => completed() });
    expect(await valuesOf("trivium.turns")).toContainEqual(["running", 1]);
    expect(await valuesOf("trivium.tasks.parked")).toContainEqual(["call", 1]);
    end.resolve();
    await events.return?.();
    await client.close();

    async function valuesOf(name: string) {
      const values = (await metrics.of(name)).filter(({ attributes }) => attributes["gen_ai.agent.name"] === "Twice");
      return values.map(({ attributes, value }) => [
        attributes["trivium.turn.state"] ?? attributes["trivium.parked.until"],
        value,
      ]);
    }
  });
});
