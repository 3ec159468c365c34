import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RateDraw, RateStore } from "../../../src/core/ports.js";
import { openPostgres, type PostgresDatabase } from "../../../src/store/postgres/database.js";
import { rateStoreContract } from "../../../src/testing/contract/rate-store.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { tries } from "../../support/tries.js";

const dayMs = 86_400_000;

let database: StoreDatabase;
let opened: readonly PostgresDatabase[] = [];
let own: PostgresDatabase;
let now: number;

function draw(key: string, changes: Partial<RateDraw> = {}): RateDraw {
  return { key, windowMs: dayMs, shiftMs: 0, limit: 100, need: 1, used: 0, ...changes };
}

describe.skipIf(!hasPostgres)("limits on PostgreSQL", () => {
  beforeAll(async () => {
    database = await createStoreDatabase();
    opened = [0, 1].map(() => openPostgres({ url: database.url }, () => now));
    own = openPostgres({ url: database.url });
  }, startTimeoutMs);
  beforeEach(() => {
    now = Date.UTC(2026, 0, 1, 6);
  });
  afterAll(() => Promise.all([...opened, own].map(({ backend }) => backend.close())));

  const ratesOf = (index: number): RateStore => {
    const each = opened[index % opened.length];
    if (each === undefined) throw new Error("there is no database");
    return each.rates;
  };

  describe("pass the contract", () => {
    const advance = async (ms: number): Promise<void> => {
      now += ms;
    };
    const make = async () => ({ here: ratesOf(0), there: ratesOf(1), advance });
    for (const { name, run } of rateStoreContract(make, { histories: tries(30, 1000) })) it(name, run);
  });

  describe("pass the contract by the clock of the database", () => {
    const make = async () => ({ here: own.rates, there: own.rates });
    for (const { name, run } of rateStoreContract(make, { histories: 5 })) it(name, run);
  });

  it("limits on PostgreSQL drop the windows that have ended, and no others", async () => {
    const { server, url } = database;
    const keys = async () =>
      (await server.query("select key from trivium_rates order by key", [], url)).map(({ key }) => key);
    await server.query("delete from trivium_rates", [], url);
    await ratesOf(0).draw([draw("short", { windowMs: 60_000 }), draw("long")]);
    const keep = { tasksMs: undefined, tasksMax: undefined, logsMs: undefined, sendsMs: 1e9 };
    await opened[0]?.backend.prune(keep, 100);
    expect(await keys()).toEqual(["long", "short"]);
    now += 60_000;
    await opened[0]?.backend.prune(keep, 100);
    expect(await keys()).toEqual(["long"]);
  });
});
