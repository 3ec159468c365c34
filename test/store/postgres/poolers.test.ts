import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/protocol/async/system-clock.js";
import { type ConnectionMode, createPoolerMode } from "../../../src/store/postgres/connection.js";
import { reportConnection } from "../../../src/store/postgres/connection-report.js";
import { openPostgres, type PostgresDatabase } from "../../../src/store/postgres/database.js";
import { type PostgresStoreOptions, postgresStore, StoreError } from "../../../src/store/postgres/index.js";
import type { PostgresConnectOptions } from "../../../src/store/postgres/settings.js";
import { type PostgresSignals, postgresSignals } from "../../../src/store/postgres/signals.js";
import { schemaStatus } from "../../../src/store/sql/migrate.js";
import { appendTo, newTask, readHead } from "../../../src/testing/contract/fixtures.js";
import {
  hasPgBouncer,
  type PgBouncer,
  type PgBouncerOptions,
  startPgBouncer,
  tracksPreparedStatements,
} from "../../support/pgbouncer.js";
import { type SharedPostgres, sharedPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { migrateUpTo } from "../sql/databases.js";
import { alice, appendRow, taskRow } from "../sql/rows.js";

let server: SharedPostgres;
let databases: StoreDatabase;

/** A PgBouncer for the length of a test. */
async function startPooler(options: PgBouncerOptions): Promise<PgBouncer> {
  const pooler = await startPgBouncer(server.url, options);
  onTestFinished(() => pooler[Symbol.asyncDispose]());
  return pooler;
}

function open(options: PostgresConnectOptions): PostgresDatabase {
  const database = openPostgres(options);
  onTestFinished(() => database.backend.close());
  return database;
}

/** A store with what it logs. */
function storeWithLog(options: PostgresStoreOptions) {
  const { log, logger } = recordingLogger();
  const store = postgresStore({ ...options, logger });
  onTestFinished(() => store.close());
  return { store, log };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  onTestFinished(() => client.end());
  await client.connect();
  return client;
}

const ownSettings = ["idle_in_transaction_session_timeout", "plan_cache_mode", "statement_timeout"];
const settingsText = sql<{ name: string; setting: string }>`
  select name, setting from pg_settings where name = any(${ownSettings}) order by name`;
const preparedText = "select name, statement from pg_prepared_statements";

/** Creates, appends and lists. */
async function use({ backend }: PostgresDatabase, id: string): Promise<void> {
  const { key } = await backend.create(taskRow(id));
  expect(await backend.append(appendRow({ key, epoch: 1, seq: 1 }))).toBe("stored");
  expect((await backend.list(alice, { limit: 1 })).tasks).toHaveLength(1);
}

/** Reads what is set and prepared in each session of a pooler in transaction mode, which are held at the same time. */
async function readSessions(url: string, count: number) {
  const clients = await Promise.all(Array.from({ length: count }, () => connect(url)));
  const sessions = await Promise.all(
    clients.map(async (client) => {
      await client.query("begin");
      const changed = "select name from pg_settings where name = any($1) and source = 'session'";
      const { rows: settings } = await client.query(changed, [ownSettings]);
      const { rows: prepared } = await client.query(preparedText);
      return { settings, prepared };
    }),
  );
  for (const client of clients) await client.query("rollback");
  return sessions;
}

describe.skipIf(!hasPgBouncer)("behind a pooler", () => {
  beforeAll(async () => {
    server = await sharedPostgres();
    databases = await createStoreDatabase();
  }, startTimeoutMs);

  describe("in session mode, with PgBouncer's defaults", () => {
    it("a store behind a session pooler starts on an empty database, and logs the mode once", async () => {
      const pooler = await startPooler({ mode: "session" });
      const { store, log } = storeWithLog({ url: pooler.urlFor(await server.createDatabase()) });
      await store.open?.();
      const task = await store.create(newTask());
      expect(await store.append(appendTo(await readHead(store, task)))).toBe("stored");
      await store.renew("here", 1_000);
      const modes = log.filter(({ fields }) => "mode" in fields);
      expect(modes).toMatchObject([{ level: "info", fields: { mode: "session" } }]);
    });

    it("each connection behind a session pooler has the limits of the store, and prepares its statements", async () => {
      const pooler = await startPooler({ mode: "session" });
      const database = open({ url: pooler.urlFor(databases.url), statementTimeoutMs: 7_000, pool: { max: 1 } });
      await use(database, crypto.randomUUID());
      const { rows: settings } = await settingsText.execute(database.db);
      expect(settings.map(({ setting }) => setting)).toEqual(["7000", "force_generic_plan", "7000"]);
      const { rows: prepared } = await sql.raw(preparedText).execute(database.db);
      expect(prepared.length).toBeGreaterThan(2);
    });

    it("hints behind a session pooler reach other processes once, and this one once", async () => {
      const pooler = await startPooler({ mode: "session" });
      const [here, there] = [0, 1].map(() => startSignals(pooler.urlFor(databases.url)));
      if (here === undefined || there === undefined) throw new Error("there are two");
      const own: string[] = [];
      const others: string[] = [];
      there.subscribe(({ taskId }) => others.push(taskId));
      here.subscribe(({ taskId }) => own.push(taskId));
      await expect
        .poll(() => {
          here.publish({ kind: "moved", taskId: "connect" });
          return others.includes("connect");
        })
        .toBe(true);
      here.publish({ kind: "moved", taskId: "last" });
      await expect.poll(() => others).toContain("last");
      // Notifications of one connection come in order, to itself as well.
      there.publish({ kind: "moved", taskId: "answer" });
      await expect.poll(() => own).toContain("answer");
      expect(own.filter((id) => id === "last")).toEqual(["last"]);
    });

    it("a pool without a free session is an error that says how to go on", async () => {
      const pooler = await startPooler({ mode: "session", settings: { default_pool_size: 1 } });
      const { store } = storeWithLog({ url: pooler.urlFor(databases.url), connectTimeoutMs: 500 });
      const error = await Promise.resolve(store.open?.()).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({ failure: "unreachable", message: expect.stringContaining("set sessions to true") });
    });

    it("what the URL sets and a session pooler refuses is named with a remedy", async () => {
      const pooler = await startPooler({ mode: "session" });
      const url = `${pooler.urlFor(databases.url)}?options=${encodeURIComponent("-c work_mem=1MB")}`;
      await expect(storeWithLog({ url }).store.open?.()).rejects.toMatchObject({
        failure: "unusable",
        message: expect.stringMatching(/unsupported startup parameter.*: remove it from the url/),
      });
    });
  });

  describe("in transaction mode", () => {
    const pools: readonly (readonly [string, NonNullable<PgBouncerOptions["settings"]>])[] = [
      ["lends the connection that was used last", {}],
      ["lends its connections in turn", { server_round_robin: 1, min_pool_size: 2 }],
      ["has one connection", { default_pool_size: 1 }],
    ];

    it.each(pools)("a store on an empty database finds the mode of a pooler that %s", async (_, settings) => {
      const pooler = await startPooler({ mode: "transaction", settings });
      const { store, log } = storeWithLog({ url: pooler.urlFor(await server.createDatabase()) });
      await store.open?.();
      await Promise.all(Array.from({ length: 30 }, () => store.create(newTask())));
      const modes = log.filter(({ fields }) => "mode" in fields);
      expect(modes).toMatchObject([{ level: "info", fields: { mode: "transaction" } }]);
      expect(modes[0]?.message).toContain("directUrl");
    });

    it.each([undefined, false])(
      "nothing of a store is left in a session of a transaction pooler (sessions: %s)",
      async (sessions) => {
        const pooler = await startPooler({ mode: "transaction", settings: { default_pool_size: 3 } });
        const url = pooler.urlFor(databases.url);
        const { store } = storeWithLog({ url, sessions });
        await store.open?.();
        store.signals?.subscribe(() => {});
        const tasks = await Promise.all(Array.from({ length: 50 }, () => store.create(newTask())));
        await Promise.all(tasks.map(async (task) => store.append(appendTo(await readHead(store, task)))));
        const sessionsLeft = await readSessions(url, 3);
        expect(sessionsLeft).toEqual(Array.from({ length: 3 }, () => ({ settings: [], prepared: [] })));
        const name = new URL(databases.url).pathname.slice(1);
        const listening = "select 1 from pg_stat_activity where datname = $1 and query ilike 'listen%'";
        expect(await server.query(listening, [name])).toEqual([]);
      },
    );

    it("a transaction behind a pooler has the limits of the store, and leaves those of the session", async () => {
      const pooler = await startPooler({ mode: "transaction", settings: { default_pool_size: 1 } });
      const { db } = open({ url: pooler.urlFor(databases.url), statementTimeoutMs: 200 });
      const within = await db.transaction().execute(async (transaction) => {
        const { rows } = await settingsText.execute(transaction);
        return rows.map(({ setting }) => setting);
      });
      expect(within).toEqual(["200", "auto", "200"]);
      const { rows } = await settingsText.execute(db);
      expect(rows.map(({ setting }) => setting)).toEqual(["0", "auto", "0"]);
      const late = db.transaction().execute((transaction) => sql`select pg_sleep(30)`.execute(transaction));
      await expect(late).rejects.toMatchObject({ code: "57014" });
    });

    it("a single statement behind a pooler has the limits of its role, and a migration none", async () => {
      const role = "hurried";
      await server.query(`create role ${role} login superuser`);
      await server.query(`alter role ${role} set statement_timeout = 100`);
      const pooler = await startPooler({ mode: "transaction", users: [role] });
      const address = new URL(pooler.urlFor(await server.createDatabase()));
      address.username = role;
      const url = address.href;
      const database = open({ url });
      await migrateUpTo(database, 1);
      const other = await connect(url);
      await other.query("begin; set local statement_timeout = 0; lock table trivium_tasks in access exclusive mode");
      const end = other.query("select pg_sleep(0.5); commit");
      await Promise.all([database.backend.open(), end]);
      expect((await schemaStatus(database)).pending).toEqual([]);

      const { store } = storeWithLog({ url });
      const task = await store.create(newTask());
      const head = await readHead(store, task);
      await other.query("begin; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0");
      await other.query("select * from trivium_tasks where key = $1 for update", [task.key]);
      await expect(store.append(appendTo(head))).rejects.toMatchObject({ failure: "locked" });
      await other.query("rollback");
      expect(await store.append(appendTo(head))).toBe("stored");
    });

    it("hints and migrations take directUrl, and the rest takes the transaction pooler", async () => {
      const pooler = await startPooler({ mode: "transaction" });
      const directUrl = await server.createDatabase();
      const options = { url: pooler.urlFor(directUrl), directUrl, sessions: false };
      const [one, two] = [storeWithLog(options), storeWithLog({ ...options, sessions: undefined })];
      await one.store.open?.();
      await two.store.open?.();
      const heard: string[] = [];
      two.store.signals?.subscribe(({ taskId }) => heard.push(taskId));
      one.store.signals?.subscribe(() => {});
      await expect
        .poll(() => {
          one.store.signals?.publish({ kind: "moved", taskId: "t" });
          return heard;
        })
        .toContain("t");
      const modes = two.log.filter(({ fields }) => "mode" in fields);
      expect(modes).toMatchObject([{ level: "info", fields: { mode: "transaction" } }]);
      expect(modes[0]?.message).not.toContain("directUrl");
    });

    it("a directUrl that leads through a transaction pooler is warned of, and processes poll", async () => {
      const pooler = await startPooler({ mode: "transaction" });
      const url = pooler.urlFor(databases.url);
      const { store, log } = storeWithLog({ url, directUrl: url });
      await store.open?.();
      store.signals?.subscribe(() => {});
      await expect
        .poll(() => log.filter(({ level }) => level === "warn"))
        .toMatchObject([{ fields: { mode: "transaction" }, message: expect.stringContaining("directUrl") }]);
    });

    if (tracksPreparedStatements) {
      it("statements are prepared for a pooler that keeps track of them", async () => {
        const settings = { default_pool_size: 3, server_round_robin: 1, max_prepared_statements: 200 };
        const pooler = await startPooler({ mode: "transaction", settings });
        const database = open({ url: pooler.urlFor(databases.url), prepare: true });
        await Promise.all(Array.from({ length: 30 }, () => use(database, crypto.randomUUID())));
        const [first] = await readSessions(pooler.urlFor(databases.url), 3);
        expect(first?.prepared.length).toBeGreaterThan(0);
      });
    }
  });

  it("a store goes on after some failures behind a pooler that changes from session to transaction mode", async () => {
    // One that keeps track of prepared statements would hide the change.
    const settings = tracksPreparedStatements ? { max_prepared_statements: 0 } : {};
    const pooler = await startPooler({ mode: "session", settings });
    const { store, log } = storeWithLog({ url: pooler.urlFor(databases.url), pool: { max: 3 } });
    await store.open?.();
    const { scope, id } = await store.create(newTask());
    const readAll = () => Promise.allSettled(Array.from({ length: 6 }, () => store.read(scope, id)));
    await readAll();
    // All connections share the session of a new server process, in which nothing is prepared.
    await pooler.ask("set pool_mode = 'transaction'");
    await pooler.ask("set default_pool_size = 1");
    await pooler.ask("reconnect");
    await expect
      .poll(async () => {
        const results = await readAll();
        return results.every(({ status }) => status === "fulfilled") ? log.map(({ fields }) => fields) : "failures";
      })
      .toEqual([{ mode: "session" }, { mode: "transaction" }]);
  });

  it("a store behind a pooler in statement mode, which has no transactions, says so when it opens", async () => {
    const pooler = await startPooler({ mode: "transaction", settings: { pool_mode: "statement" } });
    const { store } = storeWithLog({ url: pooler.urlFor(databases.url) });
    await expect(store.open?.()).rejects.toMatchObject({
      failure: "unusable",
      message: expect.stringContaining("use its session or transaction mode"),
    });
  });

  it("the name of a prepared statement is of its text alone, whatever a process does first", async () => {
    const [one, two] = [0, 1].map(() => open({ url: databases.url, pool: { max: 1 } }));
    if (one === undefined || two === undefined) throw new Error("there are two");
    await use(one, crypto.randomUUID());
    await two.backend.list(alice, { limit: 1 });
    await two.backend.heads([1]);
    await use(two, crypto.randomUUID());
    const statements = await Promise.all([one, two].map(({ db }) => sql.raw<Prepared>(preparedText).execute(db)));
    const names = new Map<string, Set<string>>();
    for (const { name, statement } of statements.flatMap(({ rows }) => rows)) {
      names.set(name, (names.get(name) ?? new Set()).add(statement));
    }
    expect(names.size).toBeGreaterThan(3);
    expect([...names.values()].filter((texts) => texts.size > 1)).toEqual([]);
    expect([...names.keys()].filter((name) => !/^trivium_[0-9a-f]{32}$/.test(name))).toEqual([]);
  });

  it("the mode of a pooler is reported, and without a pooler it is direct", async () => {
    const modes: ConnectionMode[] = [];
    for (const mode of ["session", "transaction"] as const) {
      const pooler = await startPooler({ mode });
      modes.push((await reportConnection({ url: pooler.urlFor(databases.url) })).mode);
    }
    expect(modes).toEqual(["session", "transaction"]);
    expect(await reportConnection({ url: databases.url })).toMatchObject({
      mode: "direct",
      role: "postgres",
      left: [],
    });
    const { store, log } = storeWithLog({ url: databases.url });
    await store.open?.();
    expect(log).toEqual([]);
  });
});

interface Prepared {
  readonly name: string;
  readonly statement: string;
}

function startSignals(url: string): PostgresSignals {
  const signals = postgresSignals({
    ...{ url, clock: systemClock, mode: createPoolerMode(), sessions: undefined, prepare: undefined },
    ...{ connectTimeoutMs: 10_000, statementTimeoutMs: 10_000 },
  });
  onTestFinished(() => signals.close());
  return signals;
}

afterAll(async () => {
  if (hasPgBouncer) await server.query("drop role if exists hurried").catch(() => {});
});
