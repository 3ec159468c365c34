import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { RateDraw, RateGrant, RateStore } from "../../core/ports.js";
import { assertOptions } from "../../protocol/check/rules.js";
import { newId } from "../../protocol/id/new-id.js";
import { Random } from "./random.js";
import {
  type ContractTest,
  collectTests,
  historyRule,
  type MakeRateStore,
  type RateSubject,
  type Suite,
} from "./suite.js";

const dayMs = 86_400_000;
/** A window whose end a test may wait for. */
const shortMs = 1000;

/** Random histories of the contract. */
export interface RateStoreContractOptions {
  /** Number of random histories. Default: 30. */
  readonly histories?: number | undefined;
  /** Reproduces the histories of a failure, whose message contains its seed. Default: random. */
  readonly seed?: number | undefined;
}

/**
 * Returns the tests that every `RateStore` must pass, for any runner. The store need not be empty.
 *
 * @example
 * ```ts
 * describe("our rate store", () => {
 *   const make = async () => ({ here: openRateStore(), there: openRateStore() });
 *   for (const { name, run } of rateStoreContract(make)) it(name, run);
 * });
 * ```
 */
export function rateStoreContract(
  make: MakeRateStore,
  options: RateStoreContractOptions = {},
): readonly ContractTest[] {
  assertOptions("rateStoreContract()", options, historyRule);
  const { histories = 30, seed } = options;
  return collectTests((suite) => {
    grantTests(suite, make);
    windowTests(suite, make);
    historyTests(suite, make, { histories, seed });
  });
}

function grantTests({ describe, it }: Suite, make: MakeRateStore): void {
  describe("limits that processes share", () => {
    it("grant a sixteenth of what is left, at least what is needed, and never more than there is", async () => {
      const { here, there } = await make();
      const draw = await createWindow(here);
      assertGrant(await drawOne(here, draw()), { granted: 6, left: 94 });
      assertGrant(await drawOne(there, draw({ need: 40 })), { granted: 40, left: 54 });
      assertGrant(await drawOne(here, draw({ need: 80 })), { granted: 54, left: 0 });
      assertGrant(await drawOne(there, draw()), { granted: 0, left: 0 });
    });
    it("count what was used already, whether or not so much is left", async () => {
      const { here, there } = await make();
      const [fullWindow, halfWindow] = [await createWindow(here), await createWindow(here)];
      assertGrant(await drawOne(here, fullWindow({ used: 150 })), { granted: 0, left: 0 });
      assertGrant(await drawOne(there, fullWindow()), { granted: 0, left: 0 });
      assertGrant(await drawOne(here, halfWindow({ used: 30 })), { granted: 4, left: 66 });
    });
    it("hold a window to a limit that was lowered or raised", async () => {
      const { here, there } = await make();
      const draw = await createWindow(here);
      assertGrant(await drawOne(here, draw({ used: 30 })), { granted: 4, left: 66 });
      assertGrant(await drawOne(there, draw({ limit: 20 })), { granted: 0, left: 0 });
      assertGrant(await drawOne(here, draw({ limit: 200, need: 100 })), { granted: 100, left: 66 });
    });
    it("grant for many keys at once, in any order, and for none", async () => {
      const { here, there } = await make();
      const draws = [
        (await createWindow(here))(),
        (await createWindow(here))({ limit: 10 }),
        (await createWindow(here))({ need: 50 }),
      ];
      const byKey = new Map((await there.draw(draws.toReversed())).map((grant) => [grant.key, grant.granted]));
      assert.deepEqual(
        draws.map(({ key }) => byKey.get(key)),
        [6, 1, 50],
      );
      assert.deepEqual(await here.draw([]), []);
    });
    it("let the draws of a moment have each its own", async () => {
      const { here, there } = await make();
      const draw = await createWindow(here);
      const ends = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? here : there));
      const grants = await Promise.all(ends.map((store) => drawOne(store, draw({ need: 7 }))));
      assert.equal(sumGrants(grants), 100);
      assert.equal(Math.min(...grants.map(({ left }) => left)), 0);
    });
  });
}

function windowTests({ describe, it }: Suite, make: MakeRateStore): void {
  describe("the windows of limits that processes share", () => {
    it("begin at times of their own", async () => {
      const { here } = await make();
      const hour = 3_600_000;
      const draw = await createWindow(here);
      const { shiftMs } = draw();
      const draws = [0, 1, 2].map((hours) => draw({ key: newId(), shiftMs: (shiftMs + hours * hour) % dayMs }));
      const ends = new Map((await here.draw(draws)).map(({ key, endsInMs }) => [key, endsInMs]));
      const [first = 0, second = 0, third = 0] = draws.map(({ key }) => ends.get(key));
      assert.ok(first > 0 && first <= dayMs, `the first window ends in ${first} ms`);
      assert.deepEqual([first - second, second - third], [hour, hour]);
    });
    it("end, and the next one has the whole limit", async () => {
      const { here, there, advance = (ms: number) => setTimeout(ms) } = await make();
      const draw = await createWindow(here, shortMs);
      const { granted, endsInMs } = await drawOne(here, draw({ need: 100 }));
      assert.equal(granted, 100);
      assert.ok(endsInMs > 0 && endsInMs <= shortMs, `the window ends in ${endsInMs} ms`);
      await advance(endsInMs + 1);
      assertGrant(await drawOne(there, draw()), { granted: 6, left: 94 });
    });
  });
}

interface Histories {
  readonly histories: number;
  readonly seed: number | undefined;
}

function historyTests({ it }: Suite, make: MakeRateStore, { histories, seed }: Histories): void {
  it("never grant more than a limit in a window, whichever process asks for what and in which order", async () => {
    const usedSeed = seed ?? Math.floor(Math.random() * 2 ** 32);
    const random = new Random(usedSeed);
    const subject = await make();
    for (let count = 0; count < histories; count += 1) await playHistory(random, subject, `with seed ${usedSeed}`);
  });
}

async function playHistory(random: Random, { here, there, advance }: RateSubject, where: string): Promise<void> {
  const limit = random.int(1, 200);
  const windows = await Promise.all([createWindow(here), createWindow(here), createWindow(here)]);
  const grantsByKey = new Map<string, number>();
  let elapsedMs = 0;
  for (let step = random.int(0, 10); step > 0; step -= 1) {
    const later = random.rarely(4, () => random.int(1, dayMs)) ?? 0;
    if (advance !== undefined && later > 0) {
      await advance(later);
      elapsedMs += later;
    }
    const atOnce = random.list(random.int(1, 4), () => {
      const randomRequest = () => ({
        limit,
        need: random.int(1, 30),
        used: random.rarely(2, () => random.int(1, 40)) ?? 0,
      });
      const draws = windows.filter(() => !random.chance(3)).map((draw) => draw(randomRequest()));
      return { store: random.pick(here, there), draws };
    });
    await Promise.all(
      atOnce.map(async ({ store, draws }) => {
        const needs = new Map(draws.map(({ key, need }) => [key, need]));
        for (const { key, granted: more, left, endsInMs } of await store.draw(draws)) {
          // Without `advance` no window ends in time.
          const window = advance === undefined ? key : `${key} ${elapsedMs + endsInMs}`;
          grantsByKey.set(window, (grantsByKey.get(window) ?? 0) + more);
          const isShort = more < (needs.get(key) ?? 0) && left > 0;
          assert.ok(!isShort, `${where}: less than the need was granted while ${left} were left`);
        }
      }),
    );
    for (const sum of grantsByKey.values()) assert.ok(sum <= limit, `${where}: ${sum} were granted of ${limit}`);
  }
}

/** Draws of a new key whose window has just begun, by the store's clock. */
async function createWindow(
  store: RateStore,
  windowMs: number = dayMs,
): Promise<(changes?: Partial<RateDraw>) => RateDraw> {
  const firstDraw = { windowMs, shiftMs: 0, limit: 100, need: 1, used: 0 };
  const { endsInMs } = await drawOne(store, { ...firstDraw, key: newId() });
  const ownDraw = { ...firstDraw, key: newId(), shiftMs: endsInMs % windowMs };
  return (changes) => ({ ...ownDraw, ...changes });
}

async function drawOne(store: RateStore, draw: RateDraw): Promise<RateGrant> {
  const [grant, ...others] = await store.draw([draw]);
  assert.ok(grant !== undefined && others.length === 0, "there is one grant for each draw");
  assert.equal(grant.key, draw.key);
  return grant;
}

function assertGrant({ granted, left }: RateGrant, expected: Pick<RateGrant, "granted" | "left">): void {
  assert.deepEqual({ granted, left }, expected);
}

function sumGrants(grants: readonly RateGrant[]): number {
  return grants.reduce((sum, { granted }) => sum + granted, 0);
}
