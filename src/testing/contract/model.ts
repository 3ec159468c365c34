import type {
  Append,
  AppendResult,
  Head,
  InboxEntry,
  ListQuery,
  LogRecord,
  NewTask,
  PutResult,
} from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import type { TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";

/** A head without the members that only a store can set. */
export type ModelHead = Omit<Head, "incarnation">;

interface ModelTask {
  readonly name: string | undefined;
  head: Omit<ModelHead, "holderLive">;
  log: LogRecord[];
  inbox: InboxEntry[];
}

/** The simplest implementation of a task store: lists with linear search. */
export class Model {
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
    return this.#headsOf(agent).filter(({ holder, holderLive }) => holder !== "" && !holderLive);
  }

  /** Wake times in these histories are long past, so every task that has one is due. */
  due(agent: string): ModelHead[] {
    return this.#headsOf(agent).filter(({ wakeAt }) => wakeAt !== undefined);
  }

  parked(agent: string) {
    const parkedHeads = this.#headsOf(agent).filter(({ holder, state }) => holder === "" && !isTerminal(state));
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

  #headsOf(agent: string): ModelHead[] {
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
