import assert from "node:assert/strict";
import fc from "fast-check";
import type { Append, Head, TaskStore } from "../../src/core/ports.js";
import { TaskState } from "../../src/protocol/model.js";
import { isTerminal } from "../../src/protocol/states.js";
import {
  alice,
  appendTo,
  assertRecords,
  assertWhole,
  bob,
  entry,
  events,
  newTask,
  plainEntry,
  taskAt,
} from "./fixtures.js";
import { Model } from "./model.js";
import type { MakeTaskStore, Subject, Suite } from "./suite.js";

const { SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;
const owners = fc.constantFrom(alice, bob);
const contexts = fc.constantFrom("c1", "c2");
const states = fc.constantFrom(SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED);
const instances = fc.constantFrom("i1", "i2", "i3");
const times = fc.integer({ min: 0, max: 6 });
const entryIds = fc.constantFrom("e1", "e2", "e3", "e4");
const rarely = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 2, nil: undefined });
const which = fc.nat({ max: 9 });

const steps = {
  create: fc.record({
    scope: owners,
    contextId: contexts,
    state: states,
    time: times,
    holder: instances,
    ends: fc.boolean(),
  }),
  append: fc.record({
    which,
    stale: fc.constantFrom("", "", "", "", "epoch", "seq"),
    count: fc.nat({ max: 3 }),
    status: rarely(fc.record({ state: states, time: times })),
    claim: rarely(fc.record({ holder: instances, turn: fc.nat({ max: 5 }) })),
    end: fc.constantFrom("", "", "right", "wrong"),
    takes: fc.array(entryIds, { maxLength: 2 }),
    snapshot: fc.boolean(),
  }),
  put: fc.record({ which, id: entryIds, kind: fc.constantFrom("message", "message", "cancel", "wake") }),
  withdraw: fc.record({ which, id: entryIds }),
  renew: fc.record({ instance: instances, ttlMs: fc.integer({ min: 1, max: 200 }) }),
  retire: fc.record({ instance: instances }),
  advance: fc.record({ ms: fc.integer({ min: 1, max: 200 }) }),
  list: fc.record({
    scope: owners,
    contextId: rarely(contexts),
    state: rarely(states),
    since: rarely(times),
    after: rarely(fc.record({ statusTime: times, which })),
    limit: fc.integer({ min: 1, max: 4 }),
  }),
  recordsAfter: fc.record({ which, after: fc.nat({ max: 12 }), limit: fc.integer({ min: 1, max: 5 }) }),
} as const;

type Steps = { readonly [K in keyof typeof steps]: (typeof steps)[K] extends fc.Arbitrary<infer V> ? V : never };
type Step<K extends keyof Steps = keyof Steps> = { [P in K]: { readonly act: P; readonly step: Steps[P] } }[K];

const acts = Object.keys(steps) as readonly (keyof Steps)[];
const anyStep = fc.oneof(
  ...acts.map((act) => fc.record({ act: fc.constant(act), step: steps[act] })),
) as fc.Arbitrary<Step>;

/** Random histories, compared step by step with a model that is too simple to be wrong. */
export function modelTests({ it }: Suite, make: MakeTaskStore, runs: number): void {
  it("does what the model does, whatever happens in whichever order", async () => {
    const history = fc.array(anyStep, { minLength: 1, maxLength: 60, size: "max" });
    const run = fc.asyncProperty(history, async (steps) => {
      const subject = await make();
      const pair = new Pair(subject);
      try {
        for (const step of steps) await pair.take(step);
        await pair.compareAll();
      } finally {
        await subject.store.close();
      }
    });
    await fc.assert(run, { numRuns: runs });
  });
}

/** A store and its model, led through the same steps. */
class Pair {
  readonly #store: TaskStore;
  readonly #advance: Subject<TaskStore>["advance"];
  readonly #model = new Model();

  constructor({ store, advance }: Subject<TaskStore>) {
    this.#store = store;
    this.#advance = advance;
  }

  async take<K extends keyof Steps>({ act, step }: Step<K>): Promise<void> {
    await this.#acts[act](step);
    await this.#compareHeads();
  }

  async compareAll(): Promise<void> {
    for (const { head, log } of this.#model.tasks) {
      const read = await this.#store.read(head.scope, head.id);
      assert.ok(read !== undefined);
      assertWhole(read, log);
      const { entries, inboxPut } = await this.#store.inbox(head.key);
      assert.deepEqual(entries.map(plainEntry), this.#model.inbox(head.key).map(plainEntry));
      assert.equal(inboxPut, head.inboxPut);
    }
  }

  async #compareHeads(): Promise<void> {
    const heads = this.#model.heads();
    const actual = await this.#store.heads(heads.map(({ key }) => key));
    assert.deepEqual(sorted(actual), sorted(heads));
    const orphans = await this.#store.orphans(100);
    assert.deepEqual(sorted(orphans), sorted(this.#model.orphans()));
    assert.equal((await this.#store.orphans(1)).length, Math.min(orphans.length, 1));
  }

  readonly #acts: { readonly [K in keyof Steps]: (step: Steps[K]) => Promise<void> } = {
    create: async ({ state, time, ends, ...rest }) => {
      const snapshot = isTerminal(state) ? { task: taskAt(1), bytes: 1 } : undefined;
      const task = newTask({ ...rest, status: { state, time }, snapshot, end: ends ? { inboxPut: 0 } : undefined });
      const { key } = await this.#store.create(task);
      this.#model.create(task, key);
    },
    append: async (step) => {
      const write = this.#write(step);
      assert.equal(await this.#store.append(write), this.#model.append(write));
    },
    put: async ({ which, id, kind }) => {
      const { key } = this.#pick(which);
      assert.equal(await this.#store.put(key, entry(id, kind), 2), this.#model.put(key, entry(id, kind), 2));
    },
    withdraw: async ({ which, id }) => {
      const { key } = this.#pick(which);
      assert.equal(await this.#store.withdraw(key, id), this.#model.withdraw(key, id));
    },
    renew: async ({ instance, ttlMs }) => {
      // Without a clock to turn, nobody knows when an instance expires.
      const ttl = this.#advance === undefined ? 3_600_000 : ttlMs;
      await this.#store.renew(instance, ttl);
      this.#model.renew(instance, ttl);
    },
    retire: async ({ instance }) => {
      await this.#store.retire(instance);
      this.#model.retire(instance);
    },
    advance: async ({ ms }) => {
      if (this.#advance === undefined) return;
      await this.#advance(ms);
      this.#model.now += ms;
    },
    list: async ({ scope, after, ...filter }) => {
      const place =
        after === undefined ? undefined : { statusTime: after.statusTime, key: this.#pick(after.which).key };
      const query = { ...filter, after: place };
      const { tasks, total, more } = await this.#store.list(scope, query);
      assert.deepEqual({ ids: tasks.map(({ head }) => head.id), total, more }, this.#model.list(scope, query));
    },
    recordsAfter: async ({ which, after, limit }) => {
      const { key } = this.#pick(which);
      const answer = await this.#store.recordsAfter(key, after, limit);
      const log = this.#model.tasks.find(({ head }) => head.key === key)?.log;
      if (log === undefined) return assert.equal(answer, undefined);
      assert.ok(answer !== undefined && answer !== "compacted");
      assertRecords(answer.records, log.slice(after, after + limit));
      assert.equal(answer.head.seq, log.length);
    },
  };

  /** One of the tasks that there are, or a key that no task has. */
  #pick(index: number): Pick<Head, "key" | "epoch" | "seq" | "inboxPut"> {
    const task = this.#model.tasks[index % (this.#model.tasks.length + 1)];
    return task?.head ?? { key: 4_711_000, epoch: 1, seq: 1, inboxPut: 0 };
  }

  #write({ which, stale, count, status, claim, end, takes, snapshot }: Steps["append"]): Append {
    const head = this.#pick(which);
    const fence = {
      key: head.key,
      epoch: head.epoch - (stale === "epoch" ? 1 : 0),
      seq: head.seq - (stale === "seq" ? 1 : 0),
    };
    const seq = fence.seq + count;
    const brings = snapshot || (status !== undefined && isTerminal(status.state));
    return appendTo(fence, {
      records: events(fence.seq, count),
      status,
      claim,
      takes,
      end: end === "" ? undefined : { inboxPut: head.inboxPut - (end === "wrong" ? 1 : 0) },
      snapshot: brings && seq > 0 ? { task: taskAt(seq), bytes: 1 } : undefined,
    });
  }
}

function sorted(heads: readonly (Omit<Head, "incarnation"> & { incarnation?: string })[]) {
  return heads.map(({ incarnation: _, ...head }) => head).toSorted((a, b) => a.key - b.key);
}
