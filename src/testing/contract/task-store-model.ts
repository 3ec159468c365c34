import assert from "node:assert/strict";
import type { Append, Head, LogRecord, TaskStore } from "../../core/ports.js";
import { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import {
  alice,
  appendTo,
  assertRecords,
  assertWhole,
  entry,
  events,
  newTask,
  plainEntry,
  sibling,
  taskAt,
} from "./fixtures.js";
import { type AnyStep, drawHistory, type Step, type Steps } from "./history.js";
import { Model } from "./model.js";
import { Random } from "./random.js";
import type { MakeTaskStore, Subject, Suite } from "./suite.js";

interface Histories {
  readonly histories: number;
  readonly seed: number | undefined;
}

/** Random histories, compared step by step with a trivial model. */
export function modelTests({ it }: Suite, make: MakeTaskStore, { histories, seed }: Histories): void {
  it("does what the model does, whatever happens in whichever order", async () => {
    const usedSeed = seed ?? Math.floor(Math.random() * 2 ** 32);
    const random = new Random(usedSeed);
    for (let count = 0; count < histories; count += 1) {
      const history = drawHistory(random);
      if ((await findFailure(history, make)) === undefined) continue;
      const shortest = await shorten(history, make);
      assert.fail(
        `with seed ${usedSeed} the store does not do what the model does: ${JSON.stringify(shortest.history)}\n${shortest.failure.message}`,
      );
    }
  });
}

async function findFailure(history: readonly AnyStep[], make: MakeTaskStore): Promise<Error | undefined> {
  const subject = await make();
  const pair = new Pair(subject);
  try {
    for (const step of history) await pair.take(step);
    await pair.compareAll();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  } finally {
    await subject.store.close();
  }
}

interface FailedHistory {
  readonly history: readonly AnyStep[];
  readonly failure: Error;
}

/** Drops every step that the failure does not need. */
async function shorten(history: readonly AnyStep[], make: MakeTaskStore): Promise<FailedHistory> {
  let shortest = history;
  let failure = new Error("it did not fail again");
  for (let index = history.length; index >= 0; index -= 1) {
    const shorter = shortest.toSpliced(index, 1);
    const again = await findFailure(shorter, make);
    if (again === undefined) continue;
    shortest = shorter;
    failure = again;
  }
  return { history: shortest, failure };
}

/** A store and its model, driven through the same steps. */
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
      const task = await this.#store.read(head.scope, head.id);
      assert.ok(task !== undefined);
      assertWhole(task, log);
      const { entries, inboxPut } = await this.#store.inbox(head.key);
      assert.deepEqual(entries.map(plainEntry), this.#model.inbox(head.key).map(plainEntry));
      assert.equal(inboxPut, head.inboxPut);
    }
  }

  async #compareHeads(): Promise<void> {
    const heads = this.#model.heads();
    const actual = await this.#store.heads(heads.map(({ key }) => key));
    assert.deepEqual(sortHeads(actual), sortHeads(heads));
    for (const { agent } of [alice, sibling]) await this.#compareSweeps(agent);
  }

  async #compareSweeps(agent: string): Promise<void> {
    const orphans = await this.#store.orphans(agent, 100);
    assert.deepEqual(sortHeads(orphans), sortHeads(this.#model.orphans(agent)));
    assert.equal((await this.#store.orphans(agent, 1)).length, Math.min(orphans.length, 1));
    const due = await this.#store.due(agent, 100);
    assert.deepEqual(sortHeads(due), sortHeads(this.#model.due(agent)));
    const times = due.map(({ wakeAt = 0 }) => wakeAt);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
    );
    const { timed, untimed } = await this.#store.parked(agent);
    assert.deepEqual({ timed, untimed }, this.#model.parked(agent));
  }

  readonly #acts: { readonly [K in keyof Steps]: (step: Steps[K]) => Promise<void> } = {
    create: async ({ state, time, ends, starts, ...rest }) => {
      const snapshot = isTerminal(state) ? { task: taskAt(1), bytes: 1 } : undefined;
      const records = starting(events(0, 1), starts);
      const end = ends ? { inboxPut: 0 } : undefined;
      const task = newTask({ ...rest, records, status: { state, time }, snapshot, end });
      if (this.#model.taskNamed(task.scope, task.name) !== undefined) return assert.rejects(this.#store.create(task));
      const { key } = await this.#store.create(task);
      this.#model.create(task, key);
    },
    taskNamed: async ({ scope, name }) => {
      assert.equal(await this.#store.taskNamed(scope, name), this.#model.taskNamed(scope, name));
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
      // Without a controllable clock the expiry of an instance is unpredictable, so none expires.
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

  /** Returns an existing task, or a key that no task has. */
  #pick(index: number): Pick<Head, "key" | "epoch" | "seq" | "inboxPut" | "state"> {
    const task = this.#model.tasks[index % (this.#model.tasks.length + 1)];
    return task?.head ?? { key: 4_711_000, epoch: 1, seq: 1, inboxPut: 0, state: TaskState.WORKING };
  }

  #write({ which, stale, count, claim, end, park, starts, takes, snapshot, ...drawn }: Steps["append"]): Append {
    const head = this.#pick(which);
    // No write gives a task that has ended another state.
    const status = isTerminal(head.state) ? undefined : drawn.status;
    const fence = {
      key: head.key,
      epoch: head.epoch - (stale === "epoch" ? 1 : 0),
      seq: head.seq - (stale === "seq" ? 1 : 0),
    };
    const seq = fence.seq + count;
    const brings = snapshot || (status !== undefined && isTerminal(status.state));
    return appendTo(fence, {
      records: starting(events(fence.seq, count), starts),
      status,
      claim,
      takes,
      end: end === "" ? undefined : { inboxPut: head.inboxPut - (end === "wrong" ? 1 : 0), park },
      snapshot: brings && seq > 0 ? { task: taskAt(seq), bytes: 1 } : undefined,
    });
  }
}

function starting(records: readonly LogRecord[], starts: boolean): readonly LogRecord[] {
  const [first, ...rest] = records;
  if (first === undefined || !starts) return records;
  return [{ kind: "turnStarted", seq: first.seq, turn: 1, attempt: 1, cause: "message" }, ...rest];
}

function sortHeads(heads: readonly (Omit<Head, "incarnation"> & { incarnation?: string })[]) {
  return heads.map(({ incarnation: _, ...head }) => head).toSorted((a, b) => a.key - b.key);
}
