import { randomBytes } from "node:crypto";
import { chownSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { working } from "../../../src/protocol/events.js";
import { type Server, serve } from "../../../src/server/serve.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { postJson, rawCall } from "../../support/http-agent.js";
import { hasPostgres, type PostgresServer, startPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import type { LogLine } from "../../support/recording-logger.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { silentRelay } from "../../support/silent-relay.js";
import { mayMount, mountDisk } from "../../support/small-disk.js";

interface Scene extends AsyncDisposable {
  readonly server: Server;
  readonly log: readonly LogLine[];
  readonly texts: readonly string[];
}

/** Serves an agent that makes a task of each message, of about `size` bytes, on a database. */
async function start(url: string, size = 1): Promise<Scene> {
  const { log, logger } = recordingLogger();
  const texts: string[] = [];
  const store = postgresStore({ url });
  const server = await serve({
    card: { name: "Stored", description: "Makes tasks", version: "1.0.0" },
    port: 0,
    drainMs: 0,
    store,
    logger,
    limits: { storeWaitMs: 500, storeOutageMs: 1500, heartbeatMs: 500 },
    async agent({ text }) {
      texts.push(text);
      return working(randomBytes(size).toString("base64"));
    },
  });
  return {
    server,
    log,
    texts,
    async [Symbol.asyncDispose]() {
      await server.close();
      await store.close();
    },
  };
}

async function send({ url }: Server, text: string) {
  const message = { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] };
  const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };
  const { status, headers, text: body } = await postJson(`${url}/json-rpc`, call);
  return { status, retryAfter: headers["retry-after"], body };
}

const health = async ({ url }: Server, path: string): Promise<number> =>
  (await rawCall(url + path, { method: "GET" })).status;

/**
 * Sends until the store is known to be away: then the agent does not start. A send whose turn has begun before waits
 * with it for the store, and is not waited for here.
 */
async function untilRefused({ server, texts }: Scene): Promise<void> {
  await expect
    .poll(
      async () => {
        const before = texts.length;
        const { status } = await Promise.race([send(server, "probing"), delay(1_000, { status: "waits" })]);
        return [status, texts.length - before];
      },
      { timeout: 10_000 },
    )
    .toEqual([503, 0]);
}

let database: PostgresServer;
let databases: StoreDatabase;

describe.skipIf(!hasPostgres)("a server whose PostgreSQL is away", () => {
  beforeAll(async () => {
    database = await startPostgres();
    databases = await createStoreDatabase(database);
  }, startTimeoutMs);
  afterAll(() => database[Symbol.asyncDispose]());

  it.each<["stopped" | "silent"]>([["stopped"], ["silent"]])(
    "a server whose PostgreSQL is away refuses sends with Retry-After, is not ready after a while, and recovers (%s)",
    async (how) => {
      await using relay = await silentRelay(database.port);
      const url = new URL(databases.url);
      url.port = `${relay.port}`;
      await using scene = await start(url.href);
      const { server, log } = scene;
      expect((await send(server, "first")).status).toBe(200);
      expect(await health(server, "/readyz")).toBe(200);
      if (how === "stopped") await database.stop("immediate");
      else relay.silence();
      await untilRefused(scene);
      expect(await send(server, "refused")).toMatchObject({ status: 503, retryAfter: "1" });
      await expect.poll(() => health(server, "/readyz"), { timeout: 10_000 }).toBe(503);
      expect(await health(server, "/healthz")).toBe(200);
      if (how === "stopped") await database.start();
      else relay.restore();
      await expect.poll(async () => (await send(server, "again")).status, { timeout: 20_000 }).toBe(200);
      await expect.poll(() => health(server, "/readyz")).toBe(200);
      expect(scene.texts).not.toContain("refused");
      const about = (text: string) => log.filter(({ message }) => message === text);
      expect([about("the task store is away").length, about("the task store is back").length]).toEqual([1, 1]);
    },
    60_000,
  );

  // No other part of these tests fills a disk for PostgreSQL.
  if (mayMount) {
    it("a server counts its PostgreSQL as away when its disk is full, and recovers once there is room", {
      timeout: 60_000,
    }, async () => {
      using disk = mountDisk(24 * 2 ** 20);
      const [row] = await database.query("show data_directory");
      chownSync(disk.folder, statSync(String(row?.["data_directory"])).uid, -1);
      await database.query(`create tablespace small location '${disk.folder}'`);
      await database.query("create database small template template0 tablespace small");
      {
        await using scene = await start(database.url.replace(/postgres$/, "small"), 100_000);
        const { server, log } = scene;
        expect((await send(server, "first")).status).toBe(200);
        const ballast = join(disk.folder, "ballast");
        writeFileSync(ballast, Buffer.alloc(8 * 2 ** 20));
        await untilRefused(scene);
        expect(await send(server, "refused")).toMatchObject({ status: 503, retryAfter: "1" });
        const list = { jsonrpc: "2.0", id: 1, method: "ListTasks", params: { pageSize: 1 } };
        expect((await postJson(`${server.url}/json-rpc`, list)).status).toBe(200);
        rmSync(ballast);
        await expect.poll(async () => (await send(server, "again")).status, { timeout: 20_000 }).toBe(200);
        expect(scene.texts).not.toContain("refused");
        const about = (text: string) => log.filter(({ message }) => message === text);
        expect([about("the task store is full").length, about("the task store is back").length]).toEqual([1, 1]);
      }
      await database.query("drop database small");
      await database.query("drop tablespace small");
    });
  }
});
