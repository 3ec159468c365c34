import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RateStore } from "../../src/core/ports.js";
import type { Clock } from "../../src/protocol/async/clock.js";
import { systemClock } from "../../src/protocol/async/system-clock.js";
import { silentLogger } from "../../src/protocol/logger.js";
import type { Claim } from "../../src/rates/counters.js";
import type { WindowLimit } from "../../src/rates/limits.js";
import { LocalCounters } from "../../src/rates/local-counters.js";
import { SharedCounters } from "../../src/rates/shared-counters.js";
import { openPostgres, type PostgresDatabase } from "../../src/store/postgres/database.js";
import { hasPostgres, startTimeoutMs } from "../support/postgres.js";
import { createStoreDatabase } from "../support/postgres-databases.js";
import { recordingLogger } from "../support/recording-logger.js";
import { tries } from "../support/tries.js";
import { createVirtualClock, settle } from "../support/virtual-clock.js";

const dayMs = 86_400_000;

let opened: PostgresDatabase;
let scopes = 0;

function limitOf(limit: number, what: WindowLimit["resource"] = "requests"): WindowLimit {
  const path = `owner.${what}`;
  return {
    path,
    name: path,
    ofServer: false,
    callerKind: "owner",
    scopeText: "",
    resource: what,
    limit,
    windowMs: dayMs,
    text: `${limit}/day`,
  };
}

function claim(limit: WindowLimit, key: string, amount = 1): Claim {
  return { limit, key, amount, isUsed: limit.resource === "tokens" };
}

async function replica(store: RateStore, scope: string, logger = silentLogger, clock = systemClock) {
  const local = new LocalCounters(clock);
  return new SharedCounters({ store, scope, local, clock, logger });
}

/** Waits for the store for as long as it takes: on a busy machine its answer would come too late, and each replica count alone. */
const patientClock: Clock = { ...systemClock, after: () => () => {} };

/** Replicas that share their limits with no others. */
async function replicas(count: number, store: RateStore = opened.rates): Promise<readonly SharedCounters[]> {
  const scope = `test ${++scopes}`;
  return Promise.all(Array.from({ length: count }, () => replica(store, scope, silentLogger, patientClock)));
}

const isTaken = async (counters: SharedCounters, ...claims: readonly Claim[]): Promise<boolean> =>
  (await counters.take(claims)).refusal === undefined;

describe("a store that takes draws and does not answer", () => {
  it("no call waits for longer than half a second for a store that takes draws and does not answer", async () => {
    const clock = createVirtualClock();
    const asked: number[] = [];
    const silent: RateStore = {
      draw(draws) {
        asked.push(draws.length);
        return new Promise(() => {});
      },
    };
    const { log, logger } = recordingLogger();
    const counters = await replica(silent, `test ${++scopes}`, logger, clock);
    const owner = limitOf(1);
    const callers = Array.from({ length: 3000 }, (_, index) => `owner ${index}`);
    const takings = callers.map((key) => isTaken(counters, claim(owner, key)));
    await clock.advance(100);
    takings.push(...callers.map((key) => isTaken(counters, claim(owner, key))));
    await clock.advance(400);
    const taken = await Promise.all(takings);
    // Each has a limit of one, by the counts of the process.
    expect(taken.filter((isOne) => isOne)).toHaveLength(callers.length);
    expect(asked).toEqual([500]);
    expect(log.map(({ level }) => level)).toEqual(["warn"]);
    // Later calls do not wait at all, and one of them asks again.
    await clock.advance(1000);
    expect(await isTaken(counters, claim(owner, "another"))).toBe(true);
    await settle();
    expect(asked).toEqual([500, 1]);
  });
});

describe.skipIf(!hasPostgres)("limits that replicas share", () => {
  beforeAll(async () => {
    const { url } = await createStoreDatabase();
    opened = openPostgres({ url });
  }, startTimeoutMs);
  afterAll(() => opened.backend.close());

  it("limits that replicas share are never exceeded, and a sixteenth a replica at most stays unused", async () => {
    const run = fc.record({
      limit: fc.integer({ min: 1, max: 300 }),
      count: fc.integer({ min: 1, max: 4 }),
      amounts: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 8 }),
      atOnce: fc.integer({ min: 1, max: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(run, async ({ limit, count, amounts, atOnce }) => {
        const all = await replicas(count);
        const owner = limitOf(limit);
        let takenCount = 0;
        for (let askedCount = 0; askedCount < limit + 3 * atOnce; ) {
          const calls = Array.from({ length: atOnce }, async (_, index) => {
            const amount = amounts[(askedCount + index) % amounts.length] ?? 1;
            const counters = all[(askedCount + index) % all.length];
            if (counters !== undefined && (await isTaken(counters, claim(owner, "k", amount)))) takenCount += amount;
          });
          await Promise.all(calls);
          askedCount += atOnce;
        }
        expect(takenCount).toBeLessThanOrEqual(limit);
        const slack = (count - 1) * Math.max(1, Math.ceil(limit / 16)) + 2 * count;
        expect(takenCount).toBeGreaterThanOrEqual(Math.min(limit, limit + 3 * atOnce) - slack);
      }),
      { numRuns: tries(15, 300) },
    );
  });

  it("limits that replicas share ask the store for blocks, all limits of all callers in one statement", async () => {
    const drawCounts: number[] = [];
    const counting: RateStore = {
      draw(draws) {
        drawCounts.push(draws.length);
        return opened.rates.draw(draws);
      },
    };
    const [counters] = await replicas(1, counting);
    if (counters === undefined) throw new Error("there is no replica");
    const [owner, tenant] = [limitOf(1600), { ...limitOf(16_000), name: "tenant.requests" }];
    const callers = Array.from({ length: 20 }, (_, index) => `owner ${index}`);
    await Promise.all(callers.map((key) => isTaken(counters, claim(owner, key), claim(tenant, "t"))));
    expect(drawCounts).toEqual([21]);
    for (let call = 0; call < 99; call += 1) await isTaken(counters, claim(owner, "owner 0"), claim(tenant, "t"));
    expect(drawCounts).toEqual([21]);
  });

  it("limits that replicas share take all of a call's limits or none", async () => {
    const [counters] = await replicas(1);
    if (counters === undefined) throw new Error("there is no replica");
    const [wide, narrow] = [limitOf(3), { ...limitOf(1), name: "tenant.requests" }];
    expect(await isTaken(counters, claim(wide, "w"), claim(narrow, "n"))).toBe(true);
    for (let call = 0; call < 5; call += 1) {
      const { refusal: refused } = await counters.take([claim(wide, "w"), claim(narrow, "n")]);
      expect(refused).toMatchObject({ limit: narrow, left: 0 });
      expect(refused?.endsInMs).toBeLessThanOrEqual(dayMs);
    }
    expect(await isTaken(counters, claim(wide, "w"))).toBe(true);
    const third = await counters.take([claim(wide, "w")]);
    expect(third.refusal).toBeUndefined();
    expect(await isTaken(counters, claim(wide, "w"))).toBe(false);
    third.undo();
    expect(await isTaken(counters, claim(wide, "w"))).toBe(true);
  });

  it("limits that replicas share know everywhere what one has charged, also beyond the budget", async () => {
    const [one, other] = await replicas(2);
    if (one === undefined || other === undefined) throw new Error("there is no replica");
    const budget = limitOf(1000, "tokens");
    expect(await isTaken(one, claim(budget, "b", 0))).toBe(true);
    expect(await one.charge([claim(budget, "b", 990)])).toMatchObject([{ left: 10 }]);
    expect(await isTaken(other, claim(budget, "b", 0))).toBe(true);
    expect(await other.charge([claim(budget, "b", 500)])).toMatchObject([{ left: 0 }]);
    expect(await isTaken(other, claim(budget, "b", 0))).toBe(false);
  });

  it("limits that replicas share hold by own counts while the store is away, and are shared again after", async () => {
    const clock = createVirtualClock();
    const { log, logger } = recordingLogger();
    let mode: "there" | "hangs" | "fails" = "there";
    const never = new Promise<never>(() => {});
    const store: RateStore = {
      draw: async (draws) => {
        if (mode === "fails") throw new Error("no connection");
        return mode === "hangs" ? never : opened.rates.draw(draws);
      },
    };
    const counters = await replica(store, `test ${++scopes}`, logger, clock);
    const owner = limitOf(20);
    expect(await isTaken(counters, claim(owner, "k"))).toBe(true);
    mode = "hangs";
    const waiting = Promise.all(Array.from({ length: 3 }, () => isTaken(counters, claim(owner, "other"))));
    while (clock.pending().length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(500);
    expect(await waiting).toEqual([true, true, true]);
    // What was let through before counts.
    const more = [];
    for (let call = 0; call < 21; call += 1) more.push(await isTaken(counters, claim(owner, "k")));
    expect(more.filter(Boolean)).toHaveLength(19);
    expect(log.map(({ level, message }) => [level, message])).toEqual([
      ["warn", "the store does not count callers: each process limits them by itself"],
    ]);
    mode = "fails";
    await clock.advance(1000);
    expect(await isTaken(counters, claim(owner, "k"))).toBe(false);
    expect(await isTaken(counters, claim(owner, "new"))).toBe(true);
    mode = "there";
    await clock.advance(1000);
    await expect
      .poll(async () => {
        await isTaken(counters, claim(owner, "new"));
        return log.at(-1)?.message;
      })
      .toBe("the limits of callers are shared again");
  });
});
