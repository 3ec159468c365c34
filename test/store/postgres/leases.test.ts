import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { AbortKind, TurnAborted } from "../../../src/core/agent.js";
import { artifact, working } from "../../../src/protocol/events.js";
import { type Server, serve } from "../../../src/server/serve.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { postJson } from "../../support/http-agent.js";
import { hasPostgres, type PostgresServer, startPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { silentRelay } from "../../support/silent-relay.js";

/** A lease lasts longer than a server takes to notice that the store is away. */
const limits = { heartbeatMs: 300, instanceTtlMs: 2500, storeWaitMs: 500, graceMs: 100 };

/** A server whose way to the database can fall silent. */
async function replica(url: string) {
  const relay = await silentRelay(Number(new URL(url).port));
  const through = new URL(url);
  through.port = `${relay.port}`;
  const store = postgresStore({ url: through.href });
  const turns = { aborted: [] as AbortKind[], end: Promise.withResolvers<void>() };
  const server = await serve({
    card: { name: "Stored", description: "Works until it is told to end", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    store,
    limits,
    async *agent({ signal }) {
      yield working();
      await Promise.race([
        turns.end.promise,
        new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true })),
      ]);
      if (signal.aborted) turns.aborted.push((signal.reason as TurnAborted).kind);
      else yield artifact("done", { artifactId: "a" });
    },
  });
  return {
    server,
    relay,
    turns,
    async [Symbol.asyncDispose]() {
      relay.restore();
      turns.end.resolve();
      await server.close();
      await store.close();
      await relay[Symbol.asyncDispose]();
    },
  };
}

async function call({ url }: Server, method: string, params: object): Promise<unknown> {
  const { text } = await postJson(`${url}/json-rpc`, { jsonrpc: "2.0", id: 1, method, params });
  const { result, error } = JSON.parse(text) as { readonly result?: unknown; readonly error?: unknown };
  return result ?? error;
}

interface Told {
  readonly task?: { readonly id: string };
  readonly status?: { readonly state: string };
}

/** Begins a task. A busy database may miss the little time that the servers give it: then the send is made again. */
async function begin(server: Server): Promise<string> {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text: "go" }] };
  const params = { message, configuration: { returnImmediately: true } };
  return vi.waitFor(
    async () => {
      const answer = (await call(server, "SendMessage", params)) as Told;
      expect(answer.task?.id, JSON.stringify(answer)).toBeDefined();
      return answer.task?.id ?? "";
    },
    { timeout: 20_000, interval: 50 },
  );
}

const stateIn = async (server: Server, id: string): Promise<string | undefined> =>
  ((await call(server, "GetTask", { id })) as Told).status?.state;

/** Resolves when all leases have expired, by the database's clock. */
async function untilExpired(): Promise<void> {
  const text = `select count(*)::int as live from trivium_instances
    where expires_at > extract(epoch from clock_timestamp()) * 1000`;
  const live = async () => (await database.query(text, [], databases.url))[0]?.["live"];
  await expect.poll(live, { timeout: 10_000 }).toBe(0);
}

let database: PostgresServer;
let databases: StoreDatabase;

describe.skipIf(!hasPostgres)("replicas on PostgreSQL whose way to it falls silent", () => {
  beforeAll(async () => {
    database = await startPostgres();
    databases = await createStoreDatabase(database);
  }, startTimeoutMs);
  afterAll(() => database[Symbol.asyncDispose]());

  it("replicas on PostgreSQL keep their turns when the way to it fell silent for all of them", {
    timeout: 60_000,
  }, async () => {
    await using a = await replica(databases.url);
    await using b = await replica(databases.url);
    const both = [a, b] as const;
    const ids = await Promise.all(both.map(({ server }) => begin(server)));
    for (const { relay } of both) relay.silence();
    await untilExpired();
    for (const { relay } of both) relay.restore();
    for (const { turns } of both) turns.end.resolve();
    for (const [at, { server }] of both.entries()) {
      await expect.poll(() => stateIn(server, ids[at] ?? ""), { timeout: 30_000 }).toBe("TASK_STATE_COMPLETED");
    }
    expect(both.flatMap(({ turns }) => turns.aborted)).toEqual([]);
  });

  it("replicas whose way to PostgreSQL falls silent show no task that another one has taken over", {
    timeout: 60_000,
  }, async () => {
    await using a = await replica(databases.url);
    await using b = await replica(databases.url);
    const id = await begin(a.server);
    a.relay.silence();
    await expect.poll(() => stateIn(b.server, id), { timeout: 20_000 }).toBe("TASK_STATE_FAILED");
    expect(await call(a.server, "GetTask", { id })).toMatchObject({ message: expect.stringContaining("try again") });
    a.relay.restore();
    await expect.poll(() => stateIn(a.server, id), { timeout: 30_000 }).toBe("TASK_STATE_FAILED");
    await expect.poll(() => a.turns.aborted, { timeout: 10_000 }).toEqual(["OwnershipLost"]);
  });
});
