import { describe, expect, inject, it } from "vitest";
import type { Ledger } from "../crash/ledger.js";
import { seed } from "../crash/options.js";
import type { Scene } from "../crash/scene.js";
import { hasPostgres, startPostgres } from "../support/postgres.js";
import { newDatabase, query } from "./database.js";
import { after, type Fleet, type FleetOptions, runUnderLoad, startFleet } from "./fleet.js";

// Processes that stop and start while callers of all bindings work through a proxy that ignores this. Every answer must
// hold at whichever process is asked next: the checks are those of the crash suite.

/** Expects no faults, and enough activity to make that meaningful. */
function expectWhole({ faults, tally }: Ledger): void {
  const summary = `CRASH_SEED=${seed}\n${JSON.stringify(tally)}`;
  expect(faults.map((fault) => fault.slice(0, 4000)).slice(0, 20), summary).toEqual([]);
  const few = Object.entries({
    replayed: tally.replayed,
    canceled: tally.canceled,
    followUps: tally.followUps,
    repeats: tally.repeats,
    tasks: tally.tasks,
  }).filter(([, count]) => count <= 0);
  expect(few, summary).toEqual([]);
}

/** Lets all writes of tasks wait. */
async function lockTasks(store: string, seconds: number): Promise<void> {
  await query(store, `begin; lock table trivium_tasks in exclusive mode; select pg_sleep(${seconds}); commit`);
}

type Disturb = (fleet: Fleet, scene: Scene) => Promise<void>;

async function run(options: FleetOptions & { signal: AbortSignal }, disturb: Disturb): Promise<Ledger> {
  await using fleet = await startFleet(options);
  const { restartable, signal } = options;
  return await runUnderLoad({ fleet, restartable, seed, signal, disturb: (scene) => disturb(fleet, scene) });
}

describe.skipIf(inject("postgres") === undefined)("three processes on one PostgreSQL", () => {
  it.for([
    { agent: "that cannot be run again", restartable: false },
    { agent: "that can be run again", restartable: true },
  ])(
    "three processes keep every acknowledged event when killed in turn, with an agent $agent",
    async ({ restartable }, { signal }) => {
      const ledger = await run({ store: await newDatabase(), restartable, signal }, async ({ members }, scene) => {
        for (const member of members) {
          await after(scene, scene.random.int(20, 150));
          await member.kill();
          scene.ledger.tally.kills++;
          // The other processes take over its tasks meanwhile.
          await after(scene, 50);
          await member.start();
        }
        await after(scene, 50);
      });
      expectWhole(ledger);
      expect(ledger.tally.kills).toBe(3);
      expect(ledger.tally.resumed).toBeGreaterThan(0);
    },
  );

  it("three processes lose no event and fail no task in a rolling restart, each exiting with code 0", async ({
    signal,
  }) => {
    const codes: unknown[] = [];
    // A process that stopped without releasing its tasks would leave them stuck for the whole suite.
    const options = { store: await newDatabase(), restartable: false, instanceTtlMs: 60_000, signal };
    const ledger = await run(options, async ({ members }, scene) => {
      for (const member of members) {
        await after(scene, 100);
        codes.push(await member.terminate());
        await after(scene, 50);
        await member.start();
      }
      await after(scene, 50);
    });
    expectWhole(ledger);
    expect(codes).toEqual([0, 0, 0]);
    expect(ledger.tally.resumed).toBeGreaterThan(0);
    expect(ledger.tally.takenOver).toBe(0);
    // A connection may close while a request is in flight, and a call that must not be repeated is not.
    expect(ledger.tally.unanswered).toBeLessThan(4);
  });

  it.for([
    { agent: "that cannot be run again", restartable: false },
    { agent: "that can be run again", restartable: true },
  ])(
    "three processes fail no task and run none twice while writes are late, with an agent $agent",
    async ({ restartable }, { signal }) => {
      const store = await newDatabase();
      const ledger = await run({ store, restartable, signal }, async ({ members }, scene) => {
        await after(scene, 100);
        const lives = members.map(({ life }) => life);
        // Longer than `storeWaitMs`. Leases have a table of their own, and are renewed meanwhile.
        for (let count = 0; count < 3; count++) {
          await lockTasks(store, 2.5);
          await after(scene, 50);
        }
        expect(members.map(({ life }) => life)).toEqual(lives);
        const firstRuns = scene.server.runs().filter(({ kind, cause }) => kind === "begun" && cause === "message");
        const twice = firstRuns.filter(({ messageId, life }) =>
          firstRuns.some((other) => other.messageId === messageId && other.life !== life),
        );
        expect(twice).toEqual([]);
      });
      expectWhole(ledger);
      expect(ledger.tally.takenOver).toBe(0);
    },
  );
});

describe.skipIf(!hasPostgres)("three processes on a PostgreSQL of their own", () => {
  it("three processes keep every acknowledged event through a database outage, and work again after it", async ({
    signal,
  }) => {
    await using postgres = await startPostgres();
    const options = { store: await postgres.createDatabase(), restartable: true, signal };
    const ledger = await run(options, async (_, scene) => {
      for (const mode of ["fast", "immediate"] as const) {
        await after(scene, 300);
        await postgres.stop(mode);
        await postgres.start();
      }
      await after(scene, 300);
    });
    expectWhole(ledger);
  });
});
