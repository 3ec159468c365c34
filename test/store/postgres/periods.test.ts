import { beforeAll, describe, expect, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../src/store/postgres/database.js";
import { foldPeriods, periodMs } from "../../../src/store/sql/periods.js";
import type { Backend } from "../../../src/store/sql/rows.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { alice, appendRow, completion, taskRow } from "../sql/rows.js";

const processes = 3;
const tasksEach = 60;
const keep = { tasksMs: undefined, tasksMax: undefined, logsMs: undefined, sendsMs: 1e15 };

describe.skipIf(!hasPostgres)("processes on one PostgreSQL that count by time", () => {
  let databases: StoreDatabase;
  let opened: readonly PostgresDatabase[];
  beforeAll(async () => {
    databases = await createStoreDatabase();
    const url = `${databases.url}?application_name=counting`;
    // All writes are far in the past, so that counters are folded while they are written.
    opened = Array.from({ length: processes }, () => openPostgres({ url, pool: { max: 4 } }, () => 100 * periodMs));
  }, startTimeoutMs);

  it("processes on one PostgreSQL change the same counters at once, without miscount or deadlock", async () => {
    const { server, url } = databases;
    let writing = true;
    const until = async (work: (database: PostgresDatabase) => Promise<unknown>) => {
      await Promise.all(
        opened.map(async (database) => {
          while (writing) await work(database);
        }),
      );
    };
    const folding = until(({ db, dialect }) => foldPeriods({ db, dialect }, 3));
    const dropping = until(({ backend }) => backend.prune({ ...keep, tasksMax: 100 }, 10));
    await Promise.all(opened.map(({ backend }, index) => write(backend, index)));
    writing = false;
    await Promise.all([folding, dropping]);

    const [first] = opened;
    if (first === undefined) throw new Error("no process");
    while ((await first.backend.prune({ ...keep, tasksMax: 50 }, 20)).more);
    const { total } = await first.backend.list(alice, { limit: 1, since: 0 });
    expect(total).toBe(50);
    expect((await first.backend.list(alice, { limit: 1, since: 2 * periodMs, state: 3 })).total).toBe(
      await countOf(`status_time >= ${2 * periodMs}`),
    );
    const loose = "select 1 from trivium_periods where shard <> '' or count = 0";
    expect(await server.query(loose, [], url)).toEqual([]);
    await Promise.all(opened.map(({ backend }) => backend.close()));
    // PostgreSQL counts a connection's statistics once it has closed.
    const open = "select 1 from pg_stat_activity where application_name = 'counting'";
    await expect.poll(async () => (await server.query(open)).length).toBe(0);
    expect(await server.query("select sum(deadlocks)::int as n from pg_stat_database")).toEqual([{ n: 0 }]);
  });

  /** Moves tasks through three states in as many periods, some concurrently. */
  async function write(backend: Backend, process: number): Promise<void> {
    await Promise.all(
      Array.from({ length: tasksEach }, async (_, index) => {
        const time = (index % 4) * periodMs;
        const { key } = await backend.create(taskRow(`${process} ${index}`, { status: { state: 1, time } }));
        const working = { status: { state: 2, time: time + (index % 3) * periodMs } };
        expect(await backend.append(appendRow({ key, epoch: 1, seq: 1 }, working))).toBe("stored");
        expect(await backend.append(appendRow({ key, epoch: 1, seq: 2 }))).toBe("stored");
        const end = completion(4, time + 2 * periodMs);
        expect(await backend.append(appendRow({ key, epoch: 1, seq: 3 }, end))).toBe("stored");
      }),
    );
  }

  async function countOf(condition: string): Promise<unknown> {
    const text = `select count(*)::int as n from trivium_tasks where ${condition}`;
    const [row] = await databases.server.query(text, [], databases.url);
    return row?.["n"];
  }
});
