import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RateDraw, RateStore } from "../../../src/core/ports.js";
import { openPostgres, type PostgresDatabase } from "../../../src/store/postgres/database.js";
import { hasPostgres, startTimeoutMs } from "../../support/postgres.js";
import { createStoreDatabase, type StoreDatabase } from "../../support/postgres-databases.js";
import { tries } from "../../support/tries.js";

const dayMs = 86_400_000;

let database: StoreDatabase;
let opened: readonly PostgresDatabase[] = [];
let now: number;

function draw(key: string, changes: Partial<RateDraw> = {}): RateDraw {
  return { key, windowMs: dayMs, shiftMs: 0, limit: 100, need: 1, used: 0, ...changes };
}

async function grantOf(rates: RateStore, asked: RateDraw) {
  const [grant] = await rates.draw([asked]);
  if (grant === undefined) throw new Error("there is no grant");
  return grant;
}

describe.skipIf(!hasPostgres)("limits on PostgreSQL", () => {
  beforeAll(async () => {
    database = await createStoreDatabase();
    opened = [0, 1, 2].map(() => openPostgres({ url: database.url }, () => now));
  }, startTimeoutMs);
  beforeEach(() => {
    now = Date.UTC(2026, 0, 1, 6);
  });
  afterAll(() => Promise.all(opened.map(({ backend }) => backend.close())));

  const ratesOf = (index: number): RateStore => {
    const each = opened[index % opened.length];
    if (each === undefined) throw new Error("there is no database");
    return each.rates;
  };

  it("grant a sixteenth of what is left, at least what is needed, and never more than there is", async () => {
    const [one, other] = [ratesOf(0), ratesOf(1)];
    expect(await grantOf(one, draw("a"))).toEqual({ key: "a", granted: 6, left: 94, endsInMs: 18 * 3_600_000 });
    expect(await grantOf(other, draw("a", { need: 40 }))).toMatchObject({ granted: 40, left: 54 });
    expect(await grantOf(one, draw("a", { need: 80 }))).toMatchObject({ granted: 54, left: 0 });
    expect(await grantOf(other, draw("a"))).toMatchObject({ granted: 0, left: 0 });
    now += 18 * 3_600_000;
    expect(await grantOf(other, draw("a"))).toMatchObject({ granted: 6, left: 94, endsInMs: dayMs });
  });

  it("count what was used already whether or not so much is left, and for ever no limit that was lowered", async () => {
    const rates = ratesOf(0);
    expect(await grantOf(rates, draw("b", { used: 150 }))).toMatchObject({ granted: 0, left: 0 });
    expect(await grantOf(rates, draw("c", { used: 30 }))).toMatchObject({ granted: 4, left: 66 });
    expect(await grantOf(rates, draw("c", { limit: 20 }))).toMatchObject({ granted: 0, left: 0 });
  });

  it("answer many keys at once, whose windows begin at times of their own", async () => {
    const asked = ["z", "y", "x"].map((key, index) => draw(key, { shiftMs: index * 3_600_000 }));
    const grants = await ratesOf(0).draw(asked);
    const hours = new Map(grants.map(({ key, endsInMs }) => [key, endsInMs / 3_600_000]));
    expect(hours).toEqual(
      new Map([
        ["x", 16],
        ["y", 17],
        ["z", 18],
      ]),
    );
    expect(await ratesOf(0).draw([])).toEqual([]);
  });

  it("drop the windows that have ended, and no others", async () => {
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

  it("never grant more than a limit in a window, whoever asks for what and in which order", async () => {
    const step = fc.record({
      by: fc.nat(2),
      keys: fc.subarray(["k", "l", "m"], { minLength: 1 }),
      need: fc.integer({ min: 1, max: 30 }),
      used: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 })),
      later: fc.oneof(fc.constant(0), fc.nat(15_000)),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 200 }), fc.array(step, { maxLength: 30 }), async (limit, steps) => {
        run += 1;
        const granted = new Map<string, number>();
        const asks = steps.map(async ({ by, keys, need, used, later }) => {
          now += later;
          const asking = now;
          const asked = keys.map((key) => draw(`${run} ${key}`, { limit, need, used, windowMs: 60_000 }));
          for (const { key, granted: more, left, endsInMs } of await ratesOf(by).draw(asked.toReversed())) {
            const name = `${key} ${asking + endsInMs}`;
            const sum = (granted.get(name) ?? 0) + more;
            granted.set(name, sum);
            if (more < need && left > 0) throw new Error("less than the need was granted while more was left");
          }
        });
        await Promise.all(asks);
        for (const sum of granted.values()) expect(sum).toBeLessThanOrEqual(limit);
      }),
      { numRuns: tries(30, 1000) },
    );
  });
});
