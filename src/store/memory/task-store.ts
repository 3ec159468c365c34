import { randomUUID } from "node:crypto";
import type {
  Append,
  AppendResult,
  Clock,
  ContextValue,
  ContextValueResult,
  ContextValueWrite,
  ConversationBounds,
  ConversationQuery,
  ConversationWrite,
  DueCursor,
  Head,
  InboxEntry,
  ListPage,
  ListQuery,
  LogRecord,
  NewSend,
  NewTask,
  PutFence,
  PutResult,
  RateStore,
  SendClaim,
  SendRecord,
  SentOutcome,
  Store,
  StoredConversationRecord,
  StoredTask,
  WaitingCursor,
} from "../../core/ports.js";
import { systemClock } from "../../protocol/async/system-clock.js";
import { assertOptions } from "../../protocol/check/rules.js";
import type { Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { isTerminal } from "../../protocol/states.js";
import type { ParkedCount } from "../../protocol/telemetry/follow.js";
import { createGroupCommit, type Flush, type GroupCommit } from "../group-commit.js";
import { assertNumbered, checkContextValue, checkNewSend, checkNewTask, closedError } from "../refusals.js";
import { takeWithin } from "../take-within.js";
import { Conversations } from "./conversations.js";
import { Instances } from "./instances.js";
import {
  type MemoryTaskStoreOptions,
  memoryRule,
  resolveConversationBytes,
  resolveLimits,
  resolveSendLimits,
} from "./options.js";
import { ParkedTasks } from "./parked.js";
import { type MemoryPushStore, memoryPushStore } from "./push-store.js";
import { memoryRates } from "./rates.js";
import { Retention } from "./retention.js";
import { SendRecords } from "./send-records.js";
import { measureEntry, measureTask, putEntry, TaskEntry, withoutEntries } from "./task-entry.js";
import { TaskIndex } from "./task-index.js";

// The memory store keeps tasks as objects, behaves like the stores on disk, and bounds what it keeps. `MemoryTaskStore` is
// its order of calls: each checks that the store is open, finds the task, and judges the write before it changes anything.
// A write that passes is applied by `#apply`: records, snapshot, status, inbox, holder, conversation, then its size.
//
// A `TaskEntry` is a task with its log, snapshot and inbox. Around it are the indexes by id, key and name, `TaskIndex` for
// lists, `Instances` for holders and leases, `ParkedTasks` for wakes. `Retention` counts the bytes of the tasks and drops
// finished ones; `Conversations` and `SendRecords` bound themselves. A task is in all of these or in none: `#create` and
// `#drop` are the only ways in and out.

/**
 * Stores tasks in the memory of the process, without copies. Unfinished tasks are never dropped: when they leave no
 * room, or those of one owner take more than half of what others leave, new tasks and messages are refused
 * (`resourceExhausted`), and running tasks of that owner that would grow end FAILED. Throws a `TypeError` for wrong
 * options.
 *
 * @example
 * ```ts
 * const store = memoryTaskStore({ maxBytes: 128 << 20, finishedLogMs: 300_000 });
 * const server = await serve({ card, agent, store });
 * ```
 */
export function memoryTaskStore(options: MemoryTaskStoreOptions = {}): Store {
  assertOptions("memoryTaskStore()", options, memoryRule);
  return new MemoryTaskStore(options);
}

class MemoryTaskStore implements Store {
  readonly push: MemoryPushStore = memoryPushStore();
  readonly rates: RateStore;
  readonly heapMaxBytes: number;
  readonly #clock: Clock;
  readonly #incarnation: string;
  readonly #byId = new Map<string, TaskEntry>();
  readonly #byKey = new Map<number, TaskEntry>();
  readonly #index = new TaskIndex();
  readonly #names = new NameIndex();
  readonly #parked = new ParkedTasks();
  readonly #instances: Instances;
  readonly #conversations: Conversations;
  readonly #retention: Retention;
  readonly #sends: SendRecords;
  readonly #creates: GroupCommit<NewTask, Head>;
  readonly #appends: GroupCommit<Append, AppendResult>;
  #lastKey = 0;
  #closed: boolean = false;

  constructor(options: MemoryTaskStoreOptions) {
    const { clock = systemClock, incarnation = randomUUID().slice(0, 8), beforeFlush } = options;
    this.#clock = clock;
    this.rates = memoryRates(clock);
    this.heapMaxBytes = resolveLimits(options).maxBytes;
    this.#incarnation = incarnation;
    this.#instances = new Instances(clock);
    const maxBytes = resolveConversationBytes(options);
    this.#conversations = new Conversations({ maxBytes, onGrow: () => this.#retention.makeRoom() }, clock);
    this.#retention = new Retention(resolveLimits(options), clock, {
      drop: (entry) => this.#drop(entry),
      otherMemory: this.#conversations,
    });
    this.#sends = new SendRecords(resolveSendLimits(options), clock, (name) => this.#instances.isLive(name));
    this.#creates = createGroupCommit(createFlush((task) => this.#create(task), beforeFlush));
    this.#appends = createGroupCommit(createFlush((write) => this.#append(write), beforeFlush));
  }

  create(task: NewTask): Promise<Head> {
    return this.#closed ? Promise.reject(closedError()) : this.#creates.write(task);
  }

  append(write: Append): Promise<AppendResult> {
    return this.#closed ? Promise.reject(closedError()) : this.#appends.write(write);
  }

  async taskNamed(scope: Scope, name: string): Promise<string | undefined> {
    this.#assertOpen();
    return this.#names.find(scope, name);
  }

  async read(scope: Scope, id: string): Promise<StoredTask | undefined> {
    return this.#find(scope, id)?.read(this.#clock.now());
  }

  async head(scope: Scope, id: string): Promise<Head | undefined> {
    return this.#find(scope, id)?.head(this.#clock.now());
  }

  async recordsAfter(key: number, after: number, limit: number) {
    const entry = this.#entry(key);
    if (entry === undefined) return undefined;
    const records = entry.recordsAfter(after, limit);
    return records === "compacted" ? records : { head: entry.head(this.#clock.now()), records };
  }

  async recordsAt(key: number, seqs: readonly number[]): Promise<readonly LogRecord[]> {
    return this.#entry(key)?.recordsAt(seqs) ?? [];
  }

  async compact(key: number, upTo: number, keep: readonly number[]): Promise<void> {
    const entry = this.#entry(key);
    if (entry === undefined) return;
    const before = entry.bytes;
    entry.compactTo(upTo, keep);
    this.#retention.grow(entry, entry.bytes - before);
  }

  async heads(keys: readonly number[]): Promise<readonly Head[]> {
    const now = this.#clock.now();
    return keys.flatMap((key) => this.#entry(key)?.head(now) ?? []);
  }

  async list(scope: Scope, query: ListQuery): Promise<ListPage> {
    this.#assertOpen();
    const now = this.#clock.now();
    const { entries, total, more } = this.#index.list(scope, query);
    // A page of summaries shares everything with the tasks.
    const maxBytes = query.summaries === true ? undefined : query.maxBytes;
    const page = takeWithin(entries, ({ snapshotBytes }) => snapshotBytes, maxBytes);
    return { tasks: page.map((entry) => entry.read(now)), total, more: more || page.length < entries.length };
  }

  async unfinished(scope: Scope): Promise<number> {
    this.#assertOpen();
    return this.#index.unfinished(scope);
  }

  async put(key: number, item: InboxEntry, maxMessages: number, fence?: PutFence): Promise<PutResult> {
    const entry = this.#entry(key);
    // Only finished tasks are dropped, so a missing one has ended.
    if (entry === undefined || isTerminal(entry.state)) return "ended";
    if (fence !== undefined && (fence.epoch !== entry.epoch || fence.inboxPut !== entry.inboxPut)) return "moved";
    if (entry.holder === undefined) return "idle";
    const inbox = putEntry(entry.inbox, item, maxMessages);
    if (inbox === undefined) return "full";
    if (inbox === entry.inbox) return "stored";
    this.#retention.admit(measureEntry(item), entry.scope);
    this.#changeInbox(entry, inbox);
    entry.inboxPut += 1;
    return "stored";
  }

  async inbox(key: number) {
    const entry = this.#entry(key);
    return { entries: entry?.inbox ?? [], inboxPut: entry?.inboxPut ?? 0 };
  }

  async withdraw(key: number, entryId: string): Promise<boolean> {
    const entry = this.#entry(key);
    if (entry === undefined) return false;
    const count = entry.inbox.length;
    this.#changeInbox(entry, withoutEntries(entry.inbox, [entryId]));
    return entry.inbox.length < count;
  }

  #changeInbox(entry: TaskEntry, inbox: readonly InboxEntry[]): void {
    const before = entry.bytes;
    entry.setInbox(inbox);
    this.#retention.grow(entry, entry.bytes - before);
  }

  async renew(instance: string, ttlMs: number): Promise<number> {
    this.#assertOpen();
    return this.#instances.renew(instance, ttlMs);
  }

  async retire(instance: string): Promise<void> {
    this.#assertOpen();
    this.#instances.retire(instance);
  }

  async otherTtls(ttlMs: number): Promise<readonly number[]> {
    this.#assertOpen();
    return this.#instances.otherTtls(ttlMs);
  }

  async orphans(agent: string, limit: number, after?: number): Promise<readonly Head[]> {
    this.#assertOpen();
    const now = this.#clock.now();
    return this.#instances.orphans(agent, limit, after).map((entry) => entry.head(now));
  }

  async due(agent: string, limit: number, after?: DueCursor): Promise<readonly Head[]> {
    this.#assertOpen();
    const now = this.#clock.now();
    return this.#parked.due(agent, now, { limit, after }).map((entry) => entry.head(now));
  }

  async waiting(agent: string, olderMs: number, limit: number, after = beginning): Promise<readonly Head[]> {
    this.#assertOpen();
    const now = this.#clock.now();
    return this.#parked
      .untimed(agent)
      .filter((entry) => entry.statusTime <= now - olderMs && compareCursors(after, entry) < 0)
      .sort(compareCursors)
      .slice(0, limit)
      .map((entry) => entry.head(now));
  }

  async parked(agent: string): Promise<ParkedCount> {
    this.#assertOpen();
    return this.#parked.count(agent);
  }

  async beginSend(send: NewSend): Promise<SendRecord> {
    this.#assertOpen();
    checkNewSend(send);
    return this.#sends.begin(send);
  }

  async readSend(scope: Scope, messageId: string): Promise<SendRecord | undefined> {
    this.#assertOpen();
    return this.#sends.read(scope, messageId);
  }

  async takeSend(claim: SendClaim, instance: string): Promise<boolean> {
    this.#assertOpen();
    return this.#sends.take(claim, instance);
  }

  async settleSend(claim: SendClaim, outcome: SentOutcome, bytes: number): Promise<boolean> {
    this.#assertOpen();
    return this.#sends.settle(claim, outcome, bytes);
  }

  async forgetSend(claim: SendClaim): Promise<boolean> {
    this.#assertOpen();
    return this.#sends.forget(claim);
  }

  async addToConversations(writes: readonly ConversationWrite[]): Promise<void> {
    this.#assertOpen();
    for (const write of writes) this.#conversations.add(write);
  }

  async readConversation(
    scope: Scope,
    contextId: string,
    query: ConversationQuery,
  ): Promise<readonly StoredConversationRecord[]> {
    this.#assertOpen();
    return this.#conversations.read(scope, contextId, query);
  }

  async deleteConversation(scope: Scope, contextId: string): Promise<boolean> {
    this.#assertOpen();
    return this.#conversations.delete(scope, contextId);
  }

  async boundConversations(scope: Scope, bounds: ConversationBounds): Promise<ConversationBounds> {
    this.#assertOpen();
    return this.#conversations.bound(scope, bounds);
  }

  async readContextValue(scope: Scope, contextId: string, name: string): Promise<ContextValue | undefined> {
    this.#assertOpen();
    return this.#conversations.value(scope, contextId, name);
  }

  async writeContextValue(scope: Scope, contextId: string, write: ContextValueWrite): Promise<ContextValueResult> {
    this.#assertOpen();
    checkContextValue(scope, contextId, write.name);
    return this.#conversations.write(scope, contextId, write);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([this.#creates.drain(), this.#appends.drain()]);
    this.#retention.close();
    this.#conversations.clear();
    this.#sends.clear();
    this.#instances.clear();
    this.#parked.clear();
    this.#index.clear();
    this.#names.clear();
    this.#byId.clear();
    this.#byKey.clear();
    await this.push.close();
  }

  #create(task: NewTask): Head {
    checkNewTask(task);
    if (this.#byId.has(task.id)) throw new A2AError("internalError", `a task with the id ${task.id} exists`);
    this.#names.assertFree(task);
    assertNumbered(task.records, 0);
    this.#retention.admit(measureTask(task), task.scope);
    const { id, contextId, scope } = task;
    this.#lastKey += 1;
    const lists = this.#index.lists(scope, contextId);
    const entry = new TaskEntry(task, this.#lastKey, this.#incarnation, lists);
    this.#byId.set(id, entry);
    this.#byKey.set(entry.key, entry);
    this.#index.add(entry);
    this.#names.add(entry);
    this.#instances.assign(entry, task.holder);
    this.#apply(entry, task, 0);
    return entry.head(this.#clock.now());
  }

  #append(write: Append): AppendResult {
    const entry = this.#byKey.get(write.key);
    if (entry === undefined || entry.epoch !== write.epoch || entry.seq !== write.seq) return "fenced";
    const { claim, end, status, takes } = write;
    const terminal = isTerminal(status?.state ?? entry.state);
    if (end !== undefined && !terminal && end.inboxPut !== entry.inboxPut) return "inboxMoved";
    if (takes?.every((id) => entry.inbox.some((each) => each.id === id)) === false) return "inboxMoved";
    assertNumbered(write.records, entry.seq);
    if (addsBytes(write) && !terminal) this.#retention.admit(measureGrowth(entry, write), entry.scope);
    if (claim !== undefined) {
      entry.epoch += 1;
      entry.turn = claim.turn;
      this.#instances.assign(entry, claim.holder);
      this.#parked.set(entry, undefined);
    }
    this.#apply(entry, write, entry.bytes);
    return "stored";
  }

  #apply(entry: TaskEntry, write: NewTask | Append, bytesBefore: number): void {
    const { records, bytes, status, snapshot, takes, end, conversation } = write;
    entry.push(records, bytes);
    if (snapshot !== undefined) entry.setSnapshot(snapshot.task, snapshot.bytes);
    if (status !== undefined) this.#index.setStatus(entry, status.state, Math.max(status.time, entry.statusTime));
    if (takes !== undefined) entry.setInbox(withoutEntries(entry.inbox, takes));
    if (isTerminal(entry.state)) entry.clearInbox();
    if (end !== undefined) {
      this.#instances.assign(entry, "");
      this.#parked.set(entry, end.park?.wakeAt);
    }
    if (conversation !== undefined) this.#conversations.add(conversation);
    this.#retention.grow(entry, entry.bytes - bytesBefore);
    if (isTerminal(entry.state)) this.#parked.set(entry, undefined);
    this.#parked.note(entry);
    if (!isTerminal(entry.state)) return;
    if (entry.holder === undefined && entry.finished === undefined) this.#retention.finish(entry);
  }

  #find(scope: Scope, id: string): TaskEntry | undefined {
    this.#assertOpen();
    const entry = this.#byId.get(id);
    return entry?.isIn(scope) === true ? entry : undefined;
  }

  #entry(key: number): TaskEntry | undefined {
    this.#assertOpen();
    return this.#byKey.get(key);
  }

  #drop(entry: TaskEntry): void {
    this.#byId.delete(entry.id);
    this.#byKey.delete(entry.key);
    this.push.forget(entry.key);
    this.#index.delete(entry);
    this.#names.delete(entry);
    this.#instances.assign(entry, "");
    this.#parked.set(entry, undefined);
  }

  #assertOpen(): void {
    if (this.#closed) throw closedError();
  }
}

/**
 * Whether a write adds what a caller or an agent brings. One that ends a turn frees room, what is taken from the inbox was
 * admitted there, and a turn that begins without a message adds next to nothing.
 */
function addsBytes({ claim, end, takes, records }: Append): boolean {
  if (end !== undefined || takes !== undefined) return false;
  return claim === undefined || records.some(({ kind }) => kind === "message");
}

function measureGrowth({ snapshotBytes }: TaskEntry, { bytes, snapshot }: Append): number {
  return snapshot === undefined ? bytes : bytes + snapshot.bytes - snapshotBytes;
}

const beginning: WaitingCursor = { statusTime: Number.NEGATIVE_INFINITY, key: 0 };

function compareCursors(left: WaitingCursor, right: WaitingCursor): number {
  return left.statusTime - right.statusTime || left.key - right.key;
}

/** Applies writes in memory one by one; one that throws fails alone. */
function createFlush<W, R>(apply: (write: W) => R, beforeFlush: MemoryTaskStoreOptions["beforeFlush"]): Flush<W, R> {
  const applyAll = (writes: readonly W[]): (R | Error)[] =>
    writes.map((write) => {
      try {
        return apply(write);
      } catch (error) {
        return error instanceof Error ? error : new Error("a write failed", { cause: error });
      }
    });
  if (beforeFlush === undefined) return applyAll;
  return (writes) => beforeFlush(writes.length)?.then(() => applyAll(writes)) ?? applyAll(writes);
}

interface NamedTask {
  readonly id: string;
  readonly scope: Scope;
  readonly name?: string | undefined;
}

/** The names that callers give tasks. A name identifies one task of its scope while the task exists. */
class NameIndex {
  readonly #ids = new Map<string, string>();

  find(scope: Scope, name: string): string | undefined {
    return this.#ids.get(makeNameKey(scope, name));
  }

  /** Throws when another task has the name. */
  assertFree({ scope, name }: NamedTask): void {
    if (name === undefined || this.find(scope, name) === undefined) return;
    throw new A2AError("internalError", `a task with the name ${JSON.stringify(name)} exists`);
  }

  add({ id, scope, name }: NamedTask): void {
    if (name !== undefined) this.#ids.set(makeNameKey(scope, name), id);
  }

  delete({ scope, name }: NamedTask): void {
    if (name !== undefined) this.#ids.delete(makeNameKey(scope, name));
  }

  clear(): void {
    this.#ids.clear();
  }
}

function makeNameKey({ agent, tenant, owner }: Scope, name: string): string {
  return JSON.stringify([agent, tenant, owner, name]);
}
