import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isTerminal } from "../../../src/protocol/states.js";
import { foldPeriods, periodMs } from "../../../src/store/sql/periods.js";
import { tries } from "../../support/tries.js";
import { databaseKinds, migrateUpTo, rowsOf, type TestDatabase } from "./databases.js";
import { alice, appendRow, completion, taskRow } from "./rows.js";

const [submitted, working, completed] = [1, 2, 3];
const hour = 3_600_000;
const keep = { tasksMs: undefined, tasksMax: undefined, logsMs: undefined, sendsMs: 1e15 };

for (const { name, skipped, make } of databaseKinds()) {
  describe.skipIf(skipped)(`counters by time on ${name}`, () => {
    let now: number;
    let database: TestDatabase;
    beforeEach(async () => {
      now = 1_000 * periodMs;
      database = await make(() => now);
    });
    afterEach(() => database.backend.close());

    it("counters by time are made of the tasks of a database that had none", async () => {
      const { context, backend } = database;
      await migrateUpTo(context, 1);
      const times = Array.from({ length: 60 }, (_, index) => 900 * periodMs + index * 70_000);
      const head = (time: number, index: number) => {
        const owner = index % 5 === 0 ? "bob" : "alice";
        return `('t${index}', '', '${owner}', 'c', 'i', '1.0', '', ${1 + (index % 3)}, ${time})`;
      };
      const columns = "id, tenant, owner, context_id, incarnation, version, holder, state, status_time";
      await rowsOf(context, `insert into trivium_tasks (${columns}) values ${times.map(head).join(", ")}`);
      await backend.open();
      for (const since of [...times, 0, 900 * periodMs + 1, 901 * periodMs, 901 * periodMs - 1, now]) {
        const expected = times.filter((time, index) => time >= since && index % 5 !== 0);
        expect((await backend.list(alice, { limit: 1, since })).total).toBe(expected.length);
        const inState = times.filter((time, index) => time >= since && index % 5 !== 0 && index % 3 === 1);
        expect((await backend.list(alice, { limit: 1, since, state: 2 })).total).toBe(inState.length);
      }
    });

    it("counters by time are one row for each period, owner and state once a period is an hour old", async () => {
      const { context, backend } = database;
      await backend.open();
      const began = now;
      for (let index = 0; index < 6; index += 1) {
        const time = began + index * 200_000;
        const { key } = await backend.create(taskRow(`${index}`, { status: { state: submitted, time } }));
        if (index < 5) await backend.append(appendRow({ key, epoch: 1, seq: 1 }, completion(2, time + 1)));
      }
      const text = "select period, state, shard, count from trivium_periods order by period, state, shard";
      now = began + hour;
      const before = await rowsOf(context, text);
      expect(await backend.prune(keep, 100)).toMatchObject({ more: false });
      expect(await rowsOf(context, text)).toEqual(before);
      now = began + 2 * periodMs + hour;
      // One row at a time.
      while ((await backend.prune(keep, 1)).more);
      expect(await rowsOf(context, text)).toEqual([
        { period: 1_000, state: completed, shard: "", count: 3 },
        { period: 1_001, state: submitted, shard: "", count: 1 },
        { period: 1_001, state: completed, shard: "", count: 2 },
      ]);
    });

    it("counters by time disappear with the tasks of a period, and reappear when one returns", async () => {
      const { context, backend } = database;
      await backend.open();
      const { key } = await backend.create(taskRow("stays", { status: { state: working, time: now } }));
      const { key: old } = await backend.create(taskRow("goes", { status: { state: working, time: now } }));
      await backend.append(appendRow({ key: old, epoch: 1, seq: 1 }, completion(2, now)));
      const since = now;
      now += 2 * hour;
      expect(await backend.prune({ ...keep, tasksMs: hour }, 100)).toMatchObject({ tasks: 1 });
      expect((await backend.list(alice, { limit: 1, since })).total).toBe(1);
      expect(await rowsOf(context, "select period, state, shard, count from trivium_periods")).toEqual([
        { period: 1_000, state: working, shard: "", count: 1 },
      ]);
      await backend.append(appendRow({ key, epoch: 1, seq: 1 }, { status: { state: submitted, time: now } }));
      const total = async (from: number) => (await backend.list(alice, { limit: 1, since: from })).total;
      expect([await total(since), await total(since + periodMs), await total(now + 1)]).toEqual([1, 1, 0]);
      await backend.prune(keep, 100);
      expect(await rowsOf(context, "select period from trivium_periods where period = 1000")).toEqual([]);
    });

    it("counters by time equal the stored tasks, whatever was written, refused, dropped and folded", async () => {
      const { context, backend } = database;
      await backend.open();
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          const pair = new Counted(database, () => now);
          const began = now;
          for (const current of steps) {
            now += current.passes;
            await pair.take(current);
            const since = began + current.since;
            await pair.compare({ since, state: current.stateFilter });
          }
          const sums = "select tenant, owner, period, state, sum(count) as n from trivium_periods group by 1, 2, 3, 4";
          const real = `select tenant, owner, status_time / ${periodMs}, state, count(*) from trivium_tasks group by 1, 2, 3, 4`;
          const wrong = `select * from (${sums} having sum(count) <> 0) s except ${real}`;
          const missing = `${real} except ${sums}`;
          expect([await rowsOf(context, wrong), await rowsOf(context, missing)]).toEqual([[], []]);
        }),
        { numRuns: name === "SQLite" ? tries(20, 60) : tries(10, 25) },
      );
    });
  });
}

const step = fc.record({
  passes: fc.constantFrom(0, 1, 1_000, periodMs - 1, periodMs, 3 * periodMs, 2 * hour),
  task: fc.nat(4),
  owner: fc.constantFrom("alice", "alice", "bob"),
  state: fc.integer({ min: 1, max: 8 }),
  /** How much older than the step its status is. It may be older than the task's current status. */
  behind: fc.constantFrom(0, 1, periodMs, 2 * hour),
  withStatus: fc.boolean(),
  besides: fc.constantFrom("", "", "prune", "fold"),
  since: fc.integer({ min: -periodMs, max: 5 * hour }),
  stateFilter: fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined }),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A database and its tasks. */
class Counted {
  static #taskCount = 0;
  readonly #database: TestDatabase;
  readonly #now: () => number;
  readonly #places = new Map<number, { key: number; epoch: number; seq: number; state: number }>();

  constructor(database: TestDatabase, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  async take({ task, owner, state, behind, withStatus, besides }: Step): Promise<void> {
    const { backend, context } = this.#database;
    const time = this.#now() - behind;
    const place = this.#places.get(task);
    const end = isTerminal(state) ? { inboxPut: 0 } : undefined;
    if (place === undefined) {
      Counted.#taskCount += 1;
      const row = taskRow(`${Counted.#taskCount}`, {
        scope: { agent: "", tenant: "", owner },
        status: { state, time },
        end,
      });
      this.#places.set(task, { ...(await backend.create(row)), state });
    } else if (isTerminal(place.state)) {
      this.#places.delete(task);
    } else {
      const change = withStatus ? { status: { state, time }, end } : {};
      expect(await backend.append(appendRow({ ...place, seq: place.seq + 7 }, change))).toBe("fenced");
      expect(await backend.append(appendRow(place, change))).toBe("stored");
      this.#places.set(task, { ...place, seq: place.seq + 1, state: withStatus ? state : place.state });
    }
    if (besides === "prune") await backend.prune({ ...keep, tasksMs: periodMs }, 3);
    if (besides === "fold") await foldPeriods(context, 2);
  }

  async compare({ since, state }: { readonly since: number; readonly state: number | undefined }): Promise<void> {
    const { backend, context } = this.#database;
    for (const owner of ["alice", "bob"]) {
      const inState = state === undefined ? "" : `and state = ${state}`;
      const text = `select count(*) as n from trivium_tasks where owner = '${owner}' and status_time >= ${since} ${inState}`;
      const [row] = await rowsOf<{ n: number }>(context, text);
      const { total } = await backend.list({ agent: "", tenant: "", owner }, { limit: 2, since, state });
      expect(total).toBe(row?.n);
    }
  }
}
