import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgres } from "../../../src/store/postgres/database.js";
import { hasPostgres, type PostgresServer, startPostgres, startTimeoutMs } from "../../support/postgres.js";
import { migrateUpTo } from "../sql/databases.js";
import { alice, appendRow, completion, conversationRow, taskRow } from "../sql/rows.js";

type Opened = ReturnType<typeof openPostgres>;

/** The tables of a store in use: 3,000 tasks of 300 owners, most of them finished. */
const filling = `
  insert into trivium_tasks (id, tenant, owner, context_id, incarnation, version, holder, seq, epoch, turn, state,
    status_time, wake_at, finished_at, logged_at)
  select 'filled ' || i, '', 'owner ' || i / 10, 'context ' || i / 5, 'one', '1.0', case when i % 10 = 1 then 'gone' else '' end,
    1, 1, 1, case when i % 10 < 2 then 2 else 3 end, i, case when i % 10 = 0 then i end,
    case when i % 10 > 1 then i end, case when i % 10 > 1 then i end
  from generate_series(1, 3000) as i;
  insert into trivium_snapshots (key, seq, format, payload) select key, 1, 1, repeat('a', 100)::bytea from trivium_tasks;
  insert into trivium_log (key, seq, count, format, payload) select key, 1, 1, 1, repeat('a', 100)::bytea from trivium_tasks;
  insert into trivium_inbox (key, ordinal, id, kind, format, payload)
  select key, 1, 'm', 'message', 1, repeat('a', 100)::bytea from trivium_tasks;
  insert into trivium_counts (tenant, owner, state, shard, count)
  select tenant, owner, state, '0', count(*) from trivium_tasks group by 1, 2, 3;
  insert into trivium_periods (tenant, owner, period, state, shard, count)
  select tenant, owner, key, state, '0', 1 from trivium_tasks;
  insert into trivium_sends (tenant, owner, message_id, entry, digest, task_id, instance, attempt, seq, began_at, format)
  select '', 'owner', 'm' || i, 'e', 'd', 't', 'here', 1, 1, i, 1 from generate_series(1, 3000) as i;
  insert into trivium_push_configs (key, ordinal, cursor, id, task_id, tenant, owner, version, holder, format, payload)
  select key, 1, 0, 'p', id, tenant, owner, '1.0', case when key % 10 = 0 then 'gone' else '-' end, 1,
    repeat('a', 100)::bytea from trivium_tasks;
  insert into trivium_contexts (agent, tenant, owner, context_id, last, dropped, hidden, bytes, value_bytes, max_entries, used_at)
  select '', '', 'owner ' || i % 100, 'context ' || i, 2, 0, 0, 200, 1, 100, i from generate_series(1, 3000) as i;
  insert into trivium_conversations (context, number, kind, at, task_id, item_id, bytes, format, payload)
  select key, n, 0, used_at, '', 'm', 100, 1, repeat('a', 100)::bytea from trivium_contexts, generate_series(1, 2) as n;
  insert into trivium_context_values (context, bytes, name, version, json)
  select key, 1, 'cart', '1', '1' from trivium_contexts;
  insert into trivium_rates (key, period, width, used, expires_at, ceiling, need, forced, granted)
  select 'window ' || i, 1, 1000, 1, i, 10, 1, 0, 1 from generate_series(1, 3000) as i`;

/** Runs every repeated statement on the database's one connection. */
async function useAll({ backend }: Opened, round: string): Promise<void> {
  const { key, id } = await backend.create(taskRow(round));
  const entry = { id: "m", kind: "message", format: 1, bytes: new Uint8Array([1]) } as const;
  await backend.put(key, entry, 10, undefined);
  await backend.append(appendRow({ key, epoch: 1, seq: 1 }, { takes: ["m"] }));
  await backend.append(appendRow({ key, epoch: 1, seq: 2 }, completion(3, 2_000)));
  await backend.heads([key]);
  await backend.read(alice, id);
  await backend.recordsAfter(key, 0, 10);
  await backend.inbox(key);
  await listAll({ backend });
  await backend.renew("here", 60_000);
  await backend.orphans(alice.agent, 10);
  await backend.due(alice.agent, 10);
  await backend.parked(alice.agent);
  await backend.push.adopt(alice.agent, "here", 10);
  await useContexts({ backend }, round);
  await backend.prune({ tasksMs: 0, tasksMax: 10, logsMs: 0, sendsMs: 0 }, 10);
}

async function useContexts({ backend }: Pick<Opened, "backend">, contextId: string): Promise<void> {
  await backend.addToConversations([conversationRow({ contextId })]);
  await backend.readConversation(alice, contextId, { limit: 10, maxBytes: 1_000 });
  const value = { name: "cart", replaces: undefined, usedAt: 1_000, expiresAt: 2_000, maxBytes: 100 };
  await backend.writeContextValue(alice, contextId, { ...value, value: { json: "1", version: "1" } });
  await backend.readContextValue(alice, contextId, "cart");
  await backend.boundConversations(alice, { entries: 0, bytes: 0 });
  await backend.deleteConversation(alice, contextId);
}

async function listAll({ backend }: Pick<Opened, "backend">): Promise<void> {
  for (const page of [{}, { after: { statusTime: 1_500, key: 10 } }]) {
    for (const context of [{}, { contextId: "context 7" }]) {
      for (const state of [{}, { state: 3 }]) {
        for (const since of [{}, { since: 1_000 }]) {
          await backend.list(alice, { limit: 10, ...page, ...context, ...state, ...since });
        }
      }
    }
  }
}

/** A sum over all owners reads all counters. */
const sumOfAll = /^select .* from "trivium_counts" where "state" in /;

/** The full scans in the connection's cached plans: each table with its statement. */
async function readWhole({ db }: Opened): Promise<string[]> {
  const { rows: statements } = await sql<{ name: string; statement: string; arity: number }>`
    select name, statement, coalesce(array_length(parameter_types, 1), 0) as arity from pg_prepared_statements
    where ${"all"} = 'all'`.execute(db);
  const plans: string[] = [];
  for (const { name, statement, arity } of statements) {
    if (arity === 0 || /pg_prepared|pg_settings|to_regclass/.test(statement) || sumOfAll.test(statement)) continue;
    const nothing = Array(arity).fill("null").join(", ");
    const { rows } = await sql.raw<{ "QUERY PLAN": string }>(`explain execute ${name}(${nothing})`).execute(db);
    const lines = rows.map((row) => row["QUERY PLAN"]);
    for (const line of lines) {
      const [, table] = /Seq Scan on (\w+)/.exec(line) ?? (/JIT/.test(line) ? ["", "JIT"] : []);
      // There are few processes.
      if (table !== undefined && table !== "trivium_instances") plans.push(`${table}: ${statement}`);
    }
  }
  expect(statements.length).toBeGreaterThan(40);
  return plans;
}

describe.skipIf(!hasPostgres)("plans of PostgreSQL", { concurrent: true }, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    // Statistics are gathered only when a test does so.
    server = await startPostgres({ settings: { fsync: "off", autovacuum: "off" } });
  }, startTimeoutMs);
  afterAll(() => server[Symbol.asyncDispose]());

  async function open(): Promise<Opened & { readonly url: string }> {
    const url = await server.createDatabase();
    const opened = openPostgres({ url, pool: { max: 1 } });
    await opened.backend.open();
    return { ...opened, url };
  }

  it("plans of PostgreSQL walk indexes of tables that have no statistics", async () => {
    const database = await open();
    await server.query(filling, undefined, database.url);
    await useAll(database, "used");
    expect(await readWhole(database)).toEqual([]);
    await database.backend.close();
  });

  it("plans of PostgreSQL walk indexes of tables that have statistics", async () => {
    const database = await open();
    await server.query(`${filling}; analyze`, undefined, database.url);
    await useAll(database, "used");
    expect(await readWhole(database)).toEqual([]);
    await database.backend.close();
  });

  it("plans of PostgreSQL made on empty tables walk indexes, but for tasks that are asked for together", async () => {
    const database = await open();
    await useAll(database, "first");
    await server.query(filling, undefined, database.url);
    expect((await readWhole(database)).filter((text) => !/ = any\(\$\d::bigint\[\]\)/.test(text))).toEqual([]);
    await database.backend.close();
  });

  it("plans of PostgreSQL made by statistics of small tables are replaced as the tables grow", async () => {
    const database = await open();
    await useAll(database, "first");
    await server.query("analyze", undefined, database.url);
    await useAll(database, "second");
    expect((await readWhole(database)).some((text) => text.startsWith("trivium_tasks"))).toBe(true);
    await server.query(filling, undefined, database.url);
    const creates = Array.from({ length: 5_000 }, (_, index) => database.backend.create(taskRow(`more ${index}`)));
    await Promise.all(creates);
    await useAll(database, "third");
    // The counters fit into a few pages.
    expect((await readWhole(database)).filter((text) => !text.startsWith("trivium_counts"))).toEqual([]);
    await database.backend.close();
  });

  it("plans of PostgreSQL know the tables once a migration has changed them", async () => {
    const url = await server.createDatabase();
    const { backend, db, dialect } = openPostgres({ url, pool: { max: 1 } });
    await migrateUpTo({ db, dialect }, 1);
    const insert = `insert into trivium_tasks (id, tenant, owner, context_id, incarnation, version, holder)
      select 'task ' || i, '', 'alice', 'c', 'one', '1.0', '' from generate_series(1, 500) as i`;
    await server.query(insert, undefined, url);
    await backend.open();
    const statistics = "select reltuples::int as rows from pg_class where relname = 'trivium_tasks'";
    expect(await server.query(statistics, undefined, url)).toEqual([{ rows: 500 }]);
    await backend.close();
  });
});
