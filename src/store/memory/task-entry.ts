import type { Head, InboxEntry, LogRecord, NewTask, StoredTask } from "../../core/ports.js";
import { sizeOfJson, sizeOfMessage } from "../../protocol/check/size.js";
import type { Scope } from "../../protocol/context.js";
import type { Task, TaskState } from "../../protocol/model.js";
import type { FinishedTask } from "./retention.js";
import type { TaskList } from "./task-index.js";

/** Approximate cost of a task besides its records and its snapshot: its head and its index entries. */
const entryBytes = 1024;

/** The accounted size of a new task. */
export function measureTask({ bytes, snapshot, name }: NewTask): number {
  return entryBytes + nameBytes(name) + bytes + (snapshot?.bytes ?? 0);
}

// A name is stored in the entry and in the name index.
function nameBytes(name: string | undefined): number {
  return name === undefined ? 0 : 4 * name.length;
}

const noRecords: readonly LogRecord[] = Object.freeze([]);
const noNumbers: readonly number[] = Object.freeze([]);
const emptyInbox: readonly InboxEntry[] = Object.freeze([]);

/** A process that runs turns until it expires. */
export interface Instance {
  readonly name: string;
  readonly expiresAt: number;
}

/** A task in the memory store. Records, snapshots and inboxes are stored as given and never modified. */
export class TaskEntry {
  readonly key: number;
  readonly id: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly incarnation: string;
  readonly version: string;
  readonly name: string | undefined;
  /** The lists that contain it. */
  readonly lists: readonly [TaskList<TaskEntry>, TaskList<TaskEntry>];
  seq = 0;
  epoch = 1;
  turn = 1;
  turnSeq = 0;
  wakeAt: number | undefined;
  holder: Instance | undefined;
  state: TaskState;
  statusTime: number;
  inboxPut = 0;
  #inbox = emptyInbox;
  #inboxBytes = 0;
  /** Not terminal, without a holder and without a wake time. */
  waits: boolean = false;
  /** Set once it is terminal and without a holder: it may be dropped. */
  finished: FinishedTask | undefined;
  #log: LogRecord[] = [];
  /** Number of the last record dropped from the log. */
  #base = 0;
  /** Records that were kept when those around them were dropped. */
  #keptRecords: readonly LogRecord[] = noRecords;
  #logBytes = 0;
  #snapshot: StoredTask["snapshot"];
  #snapshotBytes = 0;

  constructor(task: NewTask, key: number, incarnation: string, lists: TaskEntry["lists"]) {
    this.key = key;
    this.id = task.id;
    this.contextId = task.contextId;
    this.scope = task.scope;
    this.incarnation = incarnation;
    this.version = task.version;
    this.name = task.name;
    this.lists = lists;
    this.state = task.status.state;
    this.statusTime = task.status.time;
  }

  get bytes(): number {
    return entryBytes + nameBytes(this.name) + this.#logBytes + this.#snapshotBytes + this.#inboxBytes;
  }

  get snapshotBytes(): number {
    return this.#snapshotBytes;
  }

  get logBytes(): number {
    return this.#logBytes;
  }

  isIn(scope: Scope): boolean {
    const { agent, tenant, owner } = this.scope;
    return owner === scope.owner && tenant === scope.tenant && agent === scope.agent;
  }

  /** Appends records numbered from `seq + 1`. */
  push(records: readonly LogRecord[], bytes: number): void {
    for (const record of records) {
      this.#log.push(record);
      if (record.kind === "turnStarted") this.turnSeq = record.seq;
    }
    this.seq += records.length;
    this.#logBytes += bytes;
  }

  setSnapshot(task: Task, bytes: number): void {
    this.#snapshot = { seq: this.seq, task };
    this.#snapshotBytes = bytes;
  }

  get inbox(): readonly InboxEntry[] {
    return this.#inbox;
  }

  setInbox(inbox: readonly InboxEntry[]): void {
    if (inbox === this.#inbox) return;
    this.#inbox = inbox;
    this.#inboxBytes = inbox.reduce((sum, entry) => sum + measureEntry(entry), 0);
  }

  clearInbox(): void {
    this.setInbox(emptyInbox);
  }

  /** Drops the records that the snapshot includes. */
  compact(): void {
    if (this.#snapshot !== undefined) this.compactTo(this.#snapshot.seq, noNumbers);
  }

  /** Drops the records up to `upTo`, as far as the snapshot includes them, except those numbered in `keep`. */
  compactTo(upTo: number, keep: readonly number[]): void {
    this.#keptRecords = this.recordsAt(keep).filter(({ seq }) => seq <= upTo);
    const end = Math.min(upTo, this.#snapshot?.seq ?? 0);
    if (end <= this.#base) return;
    const rest = this.#log.slice(end - this.#base);
    // The size of single records is not tracked, and those of a turn are alike.
    this.#logBytes = Math.round((this.#logBytes * rest.length) / this.#log.length);
    this.#log = rest;
    this.#base = end;
  }

  recordsAt(seqs: readonly number[]): readonly LogRecord[] {
    const recordAt = (seq: number): LogRecord | undefined =>
      this.#log[seq - this.#base - 1] ?? this.#keptRecords.find((record) => record.seq === seq);
    return seqs.map(recordAt).filter((record) => record !== undefined);
  }

  head(now: number): Head {
    return {
      key: this.key,
      id: this.id,
      contextId: this.contextId,
      scope: this.scope,
      incarnation: this.incarnation,
      seq: this.seq,
      epoch: this.epoch,
      holder: this.holder?.name ?? "",
      holderLive: this.holder !== undefined && now < this.holder.expiresAt,
      state: this.state,
      statusTime: this.statusTime,
      inboxPut: this.inboxPut,
      turn: this.turn,
      turnSeq: this.turnSeq,
      wakeAt: this.wakeAt,
      version: this.version,
    };
  }

  read(now: number): StoredTask {
    const head = this.head(now);
    const snapshot = this.#snapshot;
    return { head, snapshot, records: this.#slice(snapshot?.seq ?? 0, this.#log.length) };
  }

  recordsAfter(after: number, limit: number): readonly LogRecord[] | "compacted" {
    return after < this.#base ? "compacted" : this.#slice(after, limit);
  }

  #slice(after: number, limit: number): readonly LogRecord[] {
    const from = after - this.#base;
    return from >= this.#log.length ? noRecords : this.#log.slice(from, from + limit);
  }
}

/**
 * Returns the inbox with the entry added, the same inbox when the entry has no effect, or `undefined` when it is full.
 * Cancels come first, the rest in order of arrival.
 */
export function putEntry(
  inbox: readonly InboxEntry[],
  entry: InboxEntry,
  maxMessages: number,
): readonly InboxEntry[] | undefined {
  if (inbox.some(({ id }) => id === entry.id)) return inbox;
  const alike = inbox.filter(({ kind }) => kind === entry.kind).length;
  if (entry.kind === "message") return alike < maxMessages ? [...inbox, entry] : undefined;
  if (alike > 0) return inbox;
  return entry.kind === "cancel" ? [entry, ...inbox] : [...inbox, entry];
}

export function withoutEntries(inbox: readonly InboxEntry[], ids: readonly string[]): readonly InboxEntry[] {
  return inbox.length === 0 || ids.length === 0 ? inbox : inbox.filter(({ id }) => !ids.includes(id));
}

/** Overhead of an entry of an inbox beyond its content. */
const inboxEntryBytes = 256;

/** Approximate size of an entry of an inbox in bytes. */
export function measureEntry({ send, wake }: InboxEntry): number {
  if (send === undefined) return inboxEntryBytes + sizeOfJson(wake);
  const { message, metadata, extensions, principal } = send;
  return (
    inboxEntryBytes +
    sizeOfMessage(message) +
    sizeOfJson(metadata) +
    sizeOfJson([...extensions]) +
    sizeOfJson(principal)
  );
}
