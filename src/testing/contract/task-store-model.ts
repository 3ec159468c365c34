import assert from "node:assert/strict";
import type {
  Append,
  AppendResult,
  Head,
  InboxEntry,
  ListQuery,
  LogRecord,
  NewTask,
  PutResult,
  TaskStore,
} from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
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
  sibling,
  taskAt,
} from "./fixtures.js";
import { Random } from "./random.js";
import type { MakeTaskStore, Subject, Suite } from "./suite.js";

// Random histories against a model. A history is drawn from a seed (`drawHistory`), taken by the store and by a model that
// keeps heads in a list (`Model`), and compared after each step (`Pair`). A history that fails is shortened to the steps that
// the failure needs, and reported with its seed.

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

  async take<K extends keyof ModelSteps>({ act, step }: ModelStep<K>): Promise<void> {
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

  readonly #acts: { readonly [K in keyof ModelSteps]: (step: ModelSteps[K]) => Promise<void> } = {
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

  #write({ which, stale, count, claim, end, park, starts, takes, snapshot, ...drawn }: ModelSteps["append"]): Append {
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

/** The random steps of a store's history. `which` selects one of the existing tasks. */
interface ModelSteps {
  readonly create: {
    readonly scope: Scope;
    readonly contextId: string;
    readonly state: TaskState;
    readonly time: number;
    readonly holder: string;
    readonly ends: boolean;
    readonly starts: boolean;
    readonly name: string | undefined;
  };
  readonly taskNamed: { readonly scope: Scope; readonly name: string };
  readonly append: {
    readonly which: number;
    readonly stale: "" | "epoch" | "seq";
    readonly count: number;
    readonly status: { readonly state: TaskState; readonly time: number } | undefined;
    readonly claim: { readonly holder: string; readonly turn: number } | undefined;
    readonly end: "" | "right" | "wrong";
    /** Whether the end parks the task, until a time in the past or indefinitely. */
    readonly park: { readonly wakeAt: number | undefined } | undefined;
    /** Whether the first record starts a turn. */
    readonly starts: boolean;
    readonly takes: readonly string[];
    readonly snapshot: boolean;
  };
  readonly put: { readonly which: number; readonly id: string; readonly kind: InboxEntry["kind"] };
  readonly withdraw: { readonly which: number; readonly id: string };
  readonly renew: { readonly instance: string; readonly ttlMs: number };
  readonly retire: { readonly instance: string };
  readonly advance: { readonly ms: number };
  readonly list: {
    readonly scope: Scope;
    readonly contextId: string | undefined;
    readonly state: TaskState | undefined;
    readonly since: number | undefined;
    readonly after: { readonly statusTime: number; readonly which: number } | undefined;
    readonly limit: number;
  };
  readonly recordsAfter: { readonly which: number; readonly after: number; readonly limit: number };
}

interface ModelStep<K extends keyof ModelSteps> {
  readonly act: K;
  readonly step: ModelSteps[K];
}

type AnyStep = { [K in keyof ModelSteps]: ModelStep<K> }[keyof ModelSteps];

const { SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;
const maxSteps = 60;
const quarterHourMs = 900_000;

/** Draws a random sequence of steps. */
function drawHistory(random: Random): readonly AnyStep[] {
  return random.list(random.int(1, maxSteps), () => drawStep(random));
}

function drawStep(random: Random): AnyStep {
  const which = random.int(0, 9);
  const id = random.pick("e1", "e2", "e3", "e4");
  const instance = random.pick("i1", "i2", "i3");
  const ms = random.int(1, 200);
  const limit = random.int(1, 5);
  return random.pick<AnyStep>(
    { act: "create", step: drawCreate(random) },
    { act: "taskNamed", step: { scope: drawScope(random), name: drawName(random) } },
    { act: "append", step: drawAppend(random) },
    { act: "put", step: { which, id, kind: random.pick("message", "message", "cancel", "wake") } },
    { act: "withdraw", step: { which, id } },
    { act: "renew", step: { instance, ttlMs: ms } },
    { act: "retire", step: { instance } },
    { act: "advance", step: { ms } },
    { act: "list", step: drawList(random) },
    { act: "recordsAfter", step: { which, after: random.int(0, 12), limit } },
  );
}

function drawCreate(random: Random): ModelSteps["create"] {
  return {
    scope: drawScope(random),
    contextId: drawContext(random),
    state: drawState(random),
    time: drawTime(random),
    holder: random.pick("i1", "i2", "i3"),
    ends: random.chance(2),
    starts: random.chance(2),
    name: random.rarely(2, () => drawName(random)),
  };
}

function drawAppend(random: Random): ModelSteps["append"] {
  return {
    which: random.int(0, 9),
    stale: random.pick("", "", "", "", "epoch", "seq"),
    count: random.int(0, 3),
    status: random.rarely(3, () => ({ state: drawState(random), time: drawTime(random) })),
    claim: random.rarely(3, () => ({ holder: random.pick("i1", "i2", "i3"), turn: random.int(0, 5) })),
    end: random.pick("", "", "right", "wrong"),
    park: random.rarely(2, () => ({ wakeAt: random.rarely(2, () => drawTime(random)) })),
    starts: random.chance(3),
    takes: random.list(random.int(0, 2), () => random.pick("e1", "e2", "e3", "e4")),
    snapshot: random.chance(2),
  };
}

function drawList(random: Random): ModelSteps["list"] {
  return {
    scope: drawScope(random),
    contextId: random.rarely(3, () => drawContext(random)),
    state: random.rarely(3, () => drawState(random)),
    since: random.rarely(3, () => drawTime(random)),
    after: random.rarely(3, () => ({ statusTime: drawTime(random), which: random.int(0, 9) })),
    limit: random.int(1, 4),
  };
}

const drawScope = (random: Random): Scope => random.pick<Scope>(alice, bob, sibling);
const drawName = (random: Random): string => random.pick("n1", "n2", "n3");
const drawContext = (random: Random): string => random.pick("c1", "c2");
const drawState = (random: Random): TaskState => random.pick(SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED);
/** Times are close together, with a few far apart, since a store may count tasks by time span. */
const drawTime = (random: Random): number => random.int(0, 6) + random.pick(0, 0, 0, 1, 2, 300) * quarterHourMs;

/** A head without the members that only a store can set. */
type ModelHead = Omit<Head, "incarnation">;

interface ModelTask {
  readonly name: string | undefined;
  head: Omit<ModelHead, "holderLive">;
  log: LogRecord[];
  inbox: InboxEntry[];
}

/** The simplest implementation of a task store: lists with linear search. */
class Model {
  now = 0;
  readonly tasks: ModelTask[] = [];
  readonly #expiry = new Map<string, number>();

  create(task: NewTask, key: number): void {
    const { id, contextId, scope, version, name, records, status } = task;
    const holder = task.end === undefined ? task.holder : "";
    const { state, time: statusTime } = status;
    const wakeAt = isTerminal(state) ? undefined : task.end?.park?.wakeAt;
    const turnSeq = findStart(records) ?? 0;
    const head = { seq: records.length, epoch: 1, turn: 1, turnSeq, inboxPut: 0, holder, wakeAt, state, statusTime };
    this.tasks.push({ name, head: { key, id, contextId, scope, version, ...head }, log: [...records], inbox: [] });
  }

  taskNamed(scope: Scope, name: string | undefined): string | undefined {
    if (name === undefined) return undefined;
    return this.tasks.find((task) => task.name === name && isSame(task.head.scope, scope))?.head.id;
  }

  append(write: Append): AppendResult {
    const task = this.#task(write.key);
    if (task === undefined || task.head.epoch !== write.epoch || task.head.seq !== write.seq) return "fenced";
    const { head } = task;
    const state = write.status?.state ?? head.state;
    if (write.end !== undefined && !isTerminal(state) && write.end.inboxPut !== head.inboxPut) return "inboxMoved";
    if (write.takes?.some((takenId) => !task.inbox.some(({ id }) => id === takenId)) === true) return "inboxMoved";
    task.log.push(...write.records);
    const isTaken = (id: string) => isTerminal(state) || write.takes?.includes(id) === true;
    task.inbox = task.inbox.filter(({ id }) => !isTaken(id));
    task.head = {
      ...head,
      state,
      seq: task.log.length,
      epoch: head.epoch + (write.claim === undefined ? 0 : 1),
      turn: write.claim?.turn ?? head.turn,
      turnSeq: findStart(write.records) ?? head.turnSeq,
      holder: write.end === undefined ? (write.claim?.holder ?? head.holder) : "",
      wakeAt: wakeAtAfter(write, head.wakeAt, state),
      statusTime: Math.max(head.statusTime, write.status?.time ?? 0),
    };
    return "stored";
  }

  put(key: number, entry: InboxEntry, maxMessages: number): PutResult {
    const task = this.#task(key);
    if (task === undefined || isTerminal(task.head.state)) return "ended";
    if (task.head.holder === "") return "idle";
    if (task.inbox.some(({ id }) => id === entry.id)) return "stored";
    const alike = task.inbox.filter(({ kind }) => kind === entry.kind).length;
    if (entry.kind !== "message" && alike > 0) return "stored";
    if (entry.kind === "message" && alike >= maxMessages) return "full";
    task.inbox.push(entry);
    task.head = { ...task.head, inboxPut: task.head.inboxPut + 1 };
    return "stored";
  }

  inbox(key: number): readonly InboxEntry[] {
    const inbox = this.#task(key)?.inbox ?? [];
    return [...inbox.filter(({ kind }) => kind === "cancel"), ...inbox.filter(({ kind }) => kind !== "cancel")];
  }

  withdraw(key: number, entryId: string): boolean {
    const task = this.#task(key);
    const waits = task?.inbox.some(({ id }) => id === entryId) ?? false;
    if (task !== undefined) task.inbox = task.inbox.filter(({ id }) => id !== entryId);
    return waits;
  }

  renew(instance: string, ttlMs: number): void {
    this.#expiry.set(instance, this.now + ttlMs);
  }

  retire(instance: string): void {
    this.#expiry.delete(instance);
  }

  heads(): ModelHead[] {
    return this.tasks.map(({ head }) => ({ ...head, holderLive: this.#isLive(head.holder) }));
  }

  orphans(agent: string): ModelHead[] {
    return this.#listHeads(agent).filter(({ holder, holderLive }) => holder !== "" && !holderLive);
  }

  /** Wake times in these histories are long past, so every task that has one is due. */
  due(agent: string): ModelHead[] {
    return this.#listHeads(agent).filter(({ wakeAt }) => wakeAt !== undefined);
  }

  parked(agent: string) {
    const parkedHeads = this.#listHeads(agent).filter(({ holder, state }) => holder === "" && !isTerminal(state));
    const timedCount = parkedHeads.filter(({ wakeAt }) => wakeAt !== undefined).length;
    return { timed: timedCount, untimed: parkedHeads.length - timedCount };
  }

  list(scope: Scope, { contextId, state, since, after, limit }: ListQuery) {
    const matching = this.heads()
      .filter((head) => isSame(head.scope, scope))
      .filter((head) => contextId === undefined || head.contextId === contextId)
      .filter((head) => state === undefined || head.state === state)
      .filter((head) => since === undefined || head.statusTime >= since)
      .toSorted(newestFirst);
    const rest = matching.filter((head) => after === undefined || newestFirst(after, head) < 0);
    return { ids: rest.slice(0, limit).map(({ id }) => id), total: matching.length, more: rest.length > limit };
  }

  #task(key: number): ModelTask | undefined {
    return this.tasks.find(({ head }) => head.key === key);
  }

  #listHeads(agent: string): ModelHead[] {
    return this.heads().filter(({ scope }) => scope.agent === agent);
  }

  #isLive(instance: string): boolean {
    return this.now < (this.#expiry.get(instance) ?? Number.NEGATIVE_INFINITY);
  }
}

function wakeAtAfter({ claim, end }: Append, before: number | undefined, state: TaskState): number | undefined {
  if (isTerminal(state)) return undefined;
  if (end !== undefined) return end.park?.wakeAt;
  return claim === undefined ? before : undefined;
}

function findStart(records: readonly LogRecord[]): number | undefined {
  return records.findLast(({ kind }) => kind === "turnStarted")?.seq;
}

function isSame(left: Scope, right: Scope): boolean {
  return left.agent === right.agent && left.tenant === right.tenant && left.owner === right.owner;
}

function newestFirst(a: Pick<Head, "statusTime" | "key">, b: Pick<Head, "statusTime" | "key">): number {
  return b.statusTime - a.statusTime || b.key - a.key;
}
