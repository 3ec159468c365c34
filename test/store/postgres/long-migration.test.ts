import { once } from "node:events";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import pg from "pg";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres } from "../../../src/store/postgres/database.js";
import { migrationLock } from "../../../src/store/postgres/dialect.js";
import { postgresStore } from "../../../src/store/postgres/index.js";
import { startTrivium } from "../../support/command.js";
import { hasPostgres, type SharedPostgres, sharedPostgres, startTimeoutMs } from "../../support/postgres.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { migrateUpTo } from "../sql/databases.js";

let server: SharedPostgres;
let url: string;
let other: pg.Client;

beforeAll(async () => {
  if (hasPostgres) server = await sharedPostgres();
}, startTimeoutMs);

/** Creates the database with the previous release's schema. */
async function makeOld(): Promise<void> {
  url = await server.createDatabase();
  const { db, dialect, backend } = openPostgres({ url });
  await migrateUpTo({ db, dialect }, 1);
  await backend.close();
  other = new pg.Client({ connectionString: url });
  await other.connect();
}

/** Limits set by a role or an operator. */
const limited = (): string => `${url}?options=${encodeURIComponent("-c statement_timeout=200 -c lock_timeout=200")}`;

/** Longer than 100 ms and than a client's extra wait for a server that does not answer. */
const longSeconds = 5.5;

/** What a migration waits for, in place of many tasks to read. */
const obstacles = {
  "its own statements": "lock table trivium_tasks in access exclusive mode",
  "another process that migrates": `select pg_advisory_xact_lock(${migrationLock})`,
};

/** Blocks a migration. The returned promise resolves when the obstacle is gone. */
async function obstruct(statement: string, seconds: number): Promise<{ readonly end: Promise<unknown> }> {
  await other.query(`begin; ${statement}`);
  return { end: other.query(`select pg_sleep(${seconds}); commit`) };
}

describe.skipIf(!hasPostgres)("a migration that takes long", () => {
  beforeEach(makeOld);
  afterEach(() => other.end());

  it.each(Object.entries(obstacles))(
    "a migration that takes long is not canceled while it waits for %s, and logs its progress",
    async (_, statement) => {
      const { log, logger } = recordingLogger();
      const store = postgresStore({ url: limited(), statementTimeoutMs: 100, logger });
      const { end } = await obstruct(statement, longSeconds);
      await Promise.all([store.open?.(), end]);
      await store.close();
      const [first, ...rest] = log.filter(({ level }) => level === "info");
      const step = statement.startsWith("lock")
        ? "schema 2 \\(counters by time\\), statement 3 of 3"
        : "waiting for others";
      expect(first?.message).toMatch(
        new RegExp(`^migrating the database from schema 1 to 6: ${step}, [\\d.]+ s so far$`),
      );
      expect(first?.fields).toMatchObject({ from: 1, to: 6, seconds: expect.any(Number) });
      expect(rest.at(-1)?.message).toMatch(/^the database has been migrated from schema 1 to 6 in [\d.]+ s$/);
    },
  );

  it("a long migration of trivium db migrate prints on stderr how far it is", async () => {
    await other.query(`begin; ${obstacles["its own statements"]}`);
    const child = startTrivium(["db", "migrate", "--store", limited()]);
    const stdout = text(child.stdout);
    const ended = once(child, "close");
    const lines = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
    const { value: first } = await lines.next();
    await other.query("commit");
    const rest: unknown[] = [];
    for await (const line of { [Symbol.asyncIterator]: () => lines }) rest.push(line);
    expect(first).toMatch(
      /^migrating the database from schema 1 to 6: schema 2 .*, statement 3 of 3, [\d.]+ s so far$/,
    );
    expect(rest.at(-1)).toMatch(/^the database has been migrated from schema 1 to 6 in [\d.]+ s$/);
    expect(JSON.parse(await stdout)).toEqual({ version: 6, latest: 6, pending: [] });
    expect((await ended)[0]).toBe(0);
  });

  it("a long migration leaves the limits of all other statements as they are", async () => {
    const { logger } = recordingLogger();
    const store = postgresStore({ url, statementTimeoutMs: 100, logger });
    await store.open?.();
    const { end } = await obstruct("lock table trivium_instances in access exclusive mode", 0.5);
    await expect(store.renew("here", 1_000)).rejects.toMatchObject({ failure: "locked" });
    await end;
    await store.close();
  });
});
