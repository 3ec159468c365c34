import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/core/agent.js";
import { reply, working } from "../../../src/protocol/events.js";
import { idempotentSendExtension } from "../../../src/protocol/extensions.js";
import type { RateOptions } from "../../../src/rates/options.js";
import { type Server, serve } from "../../../src/server/serve.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { postJson } from "../../support/http-agent.js";
import { hasPostgres, type PostgresServer, startPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase } from "../../support/postgres-databases.js";
import { type LogLine, recordingLogger } from "../../support/recording-logger.js";
import { type SilentRelay, silentRelay } from "../../support/silent-relay.js";

// A database that takes connections and statements, and never answers. Without a time limit of its own a call waits
// until the driver gives up, here after two minutes.

const driverMs = 120_000;
/** How long a call may take at most, on a busy machine. */
const answerMs = 30_000;

const storeWaitMs = 500;
/** After a quarter of so many sends of an owner, the process counts its tasks in the store. */
const tasksPerOwner = 40;

interface Scene extends AsyncDisposable {
  readonly server: Server;
  readonly relay: SilentRelay;
  readonly log: readonly LogLine[];
}

let postgres: PostgresServer;

/** Serves an agent on a database behind a relay. */
async function start(agent: Agent, options: { readonly rate?: RateOptions } = {}): Promise<Scene> {
  const { url } = await createStoreDatabase(postgres);
  const { log, logger } = recordingLogger();
  const relay = await silentRelay(postgres.port);
  const relayed = new URL(url);
  relayed.port = `${relay.port}`;
  const store = postgresStore({
    url: relayed.href,
    logger: false,
    connectTimeoutMs: driverMs,
    statementTimeoutMs: driverMs,
  });
  const server = await serve({
    card: { name: "Stored", description: "Makes tasks", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    store,
    agent,
    logger,
    limits: { storeWaitMs, tasksPerOwner },
    push: { allow: "public" },
    authenticate: () => ({ owner: "alice" }),
    ...options,
  });
  return {
    server,
    relay,
    log,
    async [Symbol.asyncDispose]() {
      relay.restore();
      await server.close();
      await store.close();
      await relay[Symbol.asyncDispose]();
    },
  };
}

async function call({ server: { url } }: Scene, method: string, params: object, headers = {}) {
  const startedAt = performance.now();
  const body = { jsonrpc: "2.0", id: 1, method, params };
  const { status, text } = await postJson(`${url}/json-rpc`, body, { "A2A-Version": "1.0", ...headers });
  return { status, text, ms: performance.now() - startedAt };
}

function send(scene: Scene, text: string, headers = {}) {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  return call(scene, "SendMessage", { message }, headers);
}

const slowest = (outcomes: readonly { readonly ms: number }[]): number => Math.max(...outcomes.map(({ ms }) => ms));

describe.skipIf(!hasPostgres)("a server whose PostgreSQL is silent", () => {
  beforeAll(async () => {
    postgres = await startPostgres();
  }, startTimeoutMs);
  afterAll(() => postgres[Symbol.asyncDispose]());

  it("a server whose PostgreSQL is silent refuses every send in time, also where tasks are counted first", {
    timeout: 60_000,
  }, async () => {
    await using scene = await start(async () => working("done"));
    for (let count = 0; count < tasksPerOwner / 4; count++) await send(scene, "go");
    scene.relay.silence();
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => send(scene, "go")));
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([503]));
    expect(slowest(outcomes)).toBeLessThan(answerMs);
  });

  it("a server whose PostgreSQL is silent refuses every other call in time, however many of them come at once", {
    timeout: 60_000,
  }, async () => {
    await using scene = await start(async () => working("done"));
    const { text } = await send(scene, "go");
    const id: string = JSON.parse(text).result.task.id;
    scene.relay.silence();
    const calls = [
      ...Array.from({ length: 50 }, () => call(scene, "GetTask", { id })),
      ...Array.from({ length: 50 }, () => call(scene, "ListTasks", {})),
      call(scene, "CancelTask", { id }),
      call(scene, "SubscribeToTask", { id }),
      call(scene, "CreateTaskPushNotificationConfig", { taskId: id, url: "https://example.com/hook" }),
      call(scene, "GetTaskPushNotificationConfig", { taskId: id, id: "one" }),
      call(scene, "ListTaskPushNotificationConfigs", { taskId: id }),
      call(scene, "DeleteTaskPushNotificationConfig", { taskId: id, id: "one" }),
    ];
    const outcomes = await Promise.all(calls);
    expect(outcomes.filter(({ text }) => !text.includes("the task store does not answer"))).toEqual([]);
    expect(slowest(outcomes)).toBeLessThan(answerMs);
  });

  it("a server whose PostgreSQL is silent holds callers to their limits by its own counts, and answers in time", {
    timeout: 60_000,
  }, async () => {
    await using scene = await start(async () => reply("here"), {
      rate: { owner: { requests: "60/day" }, address: { requests: "1000/day" }, all: { tasks: "1000/day" } },
    });
    for (let count = 0; count < 10; count++) expect((await send(scene, "go")).status).toBe(200);
    scene.relay.silence();
    const calls = Array.from({ length: 50 }, () => [send(scene, "go"), call(scene, "ListTasks", {})]);
    const outcomes = await Promise.all(calls.flat());
    expect(slowest(outcomes)).toBeLessThan(answerMs);
    // The first ten count along with the others.
    expect(outcomes.filter(({ status }) => status === 429)).toHaveLength(50);
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200, 429, 503]));
  });

  it("a server whose PostgreSQL is silent answers by an agent of direct replies, and refuses idempotent sends", {
    timeout: 60_000,
  }, async () => {
    const texts: string[] = [];
    await using scene = await start(async ({ text }) => {
      texts.push(text);
      return reply(`you said ${text}`);
    });
    expect((await send(scene, "hello")).status).toBe(200);
    scene.relay.silence();
    const once = { "A2A-Extensions": idempotentSendExtension };
    // These make the process notice.
    const refused = await Promise.all(Array.from({ length: 3 }, () => send(scene, "once", once)));
    expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
    await expect
      .poll(() => scene.log.map(({ message }) => message), { timeout: 20_000 })
      .toContain("the task store is away");
    expect((await send(scene, "once", once)).status).toBe(503);
    const answers = await Promise.all(Array.from({ length: 150 }, (_, index) => send(scene, `${index}`)));
    expect(answers.filter(({ text }, index) => !text.includes(`you said ${index}"`))).toEqual([]);
    expect(texts).not.toContain("once");
  });
});
