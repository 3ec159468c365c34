import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Store } from "../../../src/core/ports.js";
import { loadPg } from "../../../src/store/postgres/connection.js";
import { postgresStore, StoreError } from "../../../src/store/postgres/index.js";
import { appendTo, newTask, readHead } from "../../../src/testing/contract/fixtures.js";
import { hasPostgres, type PostgresServer, startPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";

describe("without a database", () => {
  it("a PostgreSQL store names the package to install when the driver is missing", async () => {
    const missing = "pg-that-nobody-has-installed";
    await expect(loadPg(() => import(/* @vite-ignore */ missing))).rejects.toThrow(
      'trivium/postgres needs the package "pg": npm install pg',
    );
  });

  it.each([
    ["localhost:5432/db", 'the url of the database must begin with postgres://, not "localhost"'],
    ["mysql://u:secret@h/db", 'the url of the database must begin with postgres://, not "mysql"'],
    ["", 'the url of the database must begin with postgres://, not ""'],
  ])("a PostgreSQL store refuses the url %j without showing its secrets", (url, sentence) => {
    expect(() => postgresStore({ url })).toThrow(sentence);
  });

  it("a PostgreSQL store refuses options that cannot be", () => {
    const url = "postgres://127.0.0.1/none";
    expect(() => postgresStore({ url, sessions: false, hints: true })).toThrow("hints need sessions");
    expect(() => postgresStore({ url, pool: { max: 0 } })).toThrow(
      "pool.max must be a whole number of 1 or more, not 0",
    );
  });

  it("a PostgreSQL store reports an unreachable database, and still closes", async () => {
    const store = postgresStore({ url: "postgres://u:secret@127.0.0.1:1/none" });
    const error = await store.create(newTask()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ failure: "unreachable" });
    expect(String(error)).toContain("the database cannot be reached");
    expect(String(error)).not.toContain("secret");
    await store.close();
  });
});

let server: PostgresServer;
let databases: StoreDatabase;

describe.skipIf(!hasPostgres)("when PostgreSQL is stopped", () => {
  let store: Store;

  beforeAll(async () => {
    server = await startPostgres();
    databases = await createStoreDatabase(server);
    store = postgresStore({ url: databases.url, connectTimeoutMs: 5_000, statementTimeoutMs: 5_000 });
    await store.open?.();
  }, startTimeoutMs);
  afterAll(async () => {
    await store.close();
    await server[Symbol.asyncDispose]();
  });

  /** Appends as a turn does: after a failed write, the head shows whether it was stored. */
  async function appendAnyway(id: string): Promise<void> {
    await expect
      .poll(async () => {
        try {
          return await store.append(appendTo(await readHead(store, { id, scope: newTask().scope })));
        } catch {
          return "failed";
        }
      })
      .toBe("stored");
  }

  it("a connection that is ended fails its writes, and the next ones have another", async () => {
    const { id, scope, key } = await store.create(newTask());
    const kill =
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()";
    const database = new URL(databases.url).pathname.slice(1);
    for (let round = 0; round < 5; round += 1) {
      const head = await readHead(store, { id, scope });
      const write = store.append(appendTo(head)).catch((error: unknown) => error);
      await server.query(kill, [database]);
      const result = await write;
      if (result !== "stored") expect(result).toMatchObject({ failure: "unreachable" });
      await appendAnyway(id);
    }
    const page = await store.recordsAfter(key, 0, 100);
    if (page === undefined || page === "compacted") throw new Error("the log is gone");
    expect(page.records.map(({ seq }) => seq)).toEqual(page.records.map((_, index) => index + 1));
  });

  it.each(["stop", "kill"] as const)(
    "a %s of PostgreSQL fails the calls with a sentence, and after the start all works again",
    async (end) => {
      const { id, scope } = await store.create(newTask());
      await appendAnyway(id);
      const head = await readHead(store, { id, scope });
      await server[end]();
      // The backends of a killed server need a moment to notice.
      await expect
        .poll(() => store.head(scope, id).then(String, (error: StoreError) => error.failure))
        .toBe("unreachable");
      const calls = [store.append(appendTo(head)), store.head(scope, id), store.renew("here", 1_000)];
      for (const result of await Promise.allSettled(calls)) {
        expect(result).toMatchObject({ status: "rejected", reason: { failure: "unreachable" } });
      }
      await server.start();
      await appendAnyway(id);
      expect((await readHead(store, { id, scope })).seq).toBe(head.seq + 1);
    },
  );

  it("a lock that is never released fails the write at its timeout, and the task stays usable", async () => {
    const { id, key, scope } = await store.create(newTask());
    const { default: pg } = await import("pg");
    const other = new pg.Client({ connectionString: databases.url });
    await other.connect();
    await other.query("begin");
    await other.query("select * from trivium_tasks where key = $1 for update", [key]);
    const hasty = postgresStore({ url: databases.url, statementTimeoutMs: 500 });
    const write = hasty.append(appendTo(await readHead(store, { id, scope })));
    await expect(write).rejects.toMatchObject({ failure: "locked" });
    await hasty.close();
    await other.query("rollback");
    await other.end();
    await appendAnyway(id);
  });
});
