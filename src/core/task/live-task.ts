import { noop } from "../../protocol/async/noop.js";
import { sizeOfMessage, sizeOfTask } from "../../protocol/check/size.js";
import type { Principal, Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { copyTask, emptyTask } from "../../protocol/fold.js";
import { type Task, TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { TurnAborted } from "../agent.js";
import type { AppendResult, LogRecord, StoredTask } from "../ports.js";
import type { Draft } from "./draft.js";
import { eventIdPrefix } from "./event-id.js";
import { applyRecord, foldStored } from "./fold.js";
import type { LiveTaskDeps } from "./live-task-deps.js";
import { LogWindow } from "./log-window.js";
import { loseTask } from "./lost-tasks.js";
import { createRecentItems, type RecentItems } from "./recent-items.js";
import { StatusTimes } from "./status-times.js";
import { createTail, type Tail } from "./tail.js";
import { TaskSize } from "./task-size.js";
import { makeFirstWrite, makeWrite, type Outcome, type Write } from "./write.js";
import { committed, type Extras, exclusiveBatch, join, openBatch, type WriteBatch } from "./write-batch.js";

/** A reader in this process that receives each record of a live task the moment it is stored. */
export interface RecordObserver {
  /** `task` is the fold up to and including the record; it keeps changing. */
  record(record: LogRecord, task: Task): void;
  /** This process no longer runs the task: its turn ended or was taken over. */
  left(): void;
}

/** Whether this process may write the task: until its turn ends or the task is abandoned. */
type LivePhase = { readonly name: "writable" | "ended" } | { readonly name: "abandoned"; readonly reason: unknown };

const writable: LivePhase = { name: "writable" };
const ended: LivePhase = { name: "ended" };

/**
 * A task that a turn of this process runs, and the only writer of its log. Records are numbered when they go to the
 * store. They are folded, published and counted once stored: persist, then publish.
 */
export class LiveTask {
  readonly id: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly version: string;
  /** The caller's name for the task. Set only while it is being created. */
  readonly name: string | undefined;
  /** The fold of all stored records. */
  readonly task: Task;
  readonly tail: Tail = createTail();
  readonly recent: RecentItems = createRecentItems();
  readonly #deps: LiveTaskDeps;
  #key: number | undefined;
  #incarnation = "";
  #idPrefix = "";
  #epoch = 0;
  #stored = 0;
  #inboxPut = 0;
  #turn = 1;
  #messageSeq = 0;
  #wakeAt: number | undefined;
  #state: TaskState = TaskState.UNSPECIFIED;
  #phase: LivePhase = writable;
  #onClose: (() => void) | undefined;
  readonly #observers = new Set<RecordObserver>();
  /** Principals of the entries in the inbox: a stored send has only its scope. */
  #senders: Map<string, Principal> | undefined;
  readonly #pending: WriteBatch[] = [];
  #writing = false;
  /** Whether a write of this object has been stored. */
  #begun = false;
  #waiters: (() => void)[] = [];
  readonly #size = new TaskSize();
  readonly #window: LogWindow;
  readonly #statusTimes: StatusTimes;

  constructor(
    deps: LiveTaskDeps,
    born: Pick<LiveTask, "id" | "contextId" | "scope" | "version" | "name"> | StoredTask,
  ) {
    this.#deps = deps;
    this.#window = new LogWindow(deps);
    this.#statusTimes = new StatusTimes(deps.lease, "head" in born ? born.head.statusTime : 0);
    if ("head" in born) {
      const { head } = born;
      ({ id: this.id, contextId: this.contextId, scope: this.scope, version: this.version } = head);
      ({ key: this.#key, epoch: this.#epoch, seq: this.#stored, inboxPut: this.#inboxPut, turn: this.#turn } = head);
      this.task = foldStored(born);
      this.#state = head.state;
      this.#wakeAt = head.wakeAt;
      this.#size.resume(born, this.task);
      this.#identify(head.incarnation);
      return;
    }
    ({ id: this.id, contextId: this.contextId, scope: this.scope, version: this.version } = born);
    this.name = born.name;
    this.task = emptyTask(this.id, this.contextId);
  }

  /** Key in the store; `undefined` until the task is created. */
  get key(): number | undefined {
    return this.#key;
  }

  get incarnation(): string {
    return this.#incarnation;
  }

  get idPrefix(): string {
    return this.#idPrefix;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Number of the last stored record. */
  get stored(): number {
    return this.#stored;
  }

  /** The store's `inboxPut` when the inbox was last empty. */
  get inboxPut(): number {
    return this.#inboxPut;
  }

  get turn(): number {
    return this.#turn;
  }

  /** Number of the record with the message that started the turn. */
  get messageSeq(): number {
    return this.#messageSeq;
  }

  /** Time until which the task was parked before the turn. */
  get wakeAt(): number | undefined {
    return this.#wakeAt;
  }

  /** State of the last accepted status, stored or not. */
  get state(): TaskState {
    return this.#state;
  }

  /** True once this process no longer writes the task. */
  get closed(): boolean {
    return this.#phase !== writable;
  }

  /** Why the task was abandoned; `undefined` if its turn ended. */
  get failure(): unknown {
    return this.#phase.name === "abandoned" ? this.#phase.reason : undefined;
  }

  /** Calls `listener` once the task is closed. Replaces an earlier listener. */
  whenClosed(listener: () => void): void {
    this.#onClose = listener;
  }

  observe(observer: RecordObserver): void {
    this.#observers.add(observer);
  }

  unobserve(observer: RecordObserver): void {
    this.#observers.delete(observer);
  }

  /** Sets the state of a status being accepted, or restores the previous one. */
  accepted(state: TaskState): void {
    this.#state = state;
  }

  /** Sets the inbox counter: that of an empty inbox, or -1 when its content is unknown. */
  sawInbox(inboxPut: number): void {
    this.#inboxPut = inboxPut;
  }

  /**
   * Sets the time until which the ending turn parks the task, so that the next turn can restore it; `undefined` without
   * a time.
   */
  parkedUntil(wakeAt: number | undefined): void {
    this.#wakeAt = wakeAt;
  }

  /** Accepts records for one write: at once if none is under way, else with the next one. */
  add(drafts: readonly Draft[]): void {
    this.#accept(drafts);
    this.#schedule();
  }

  /** The same for records that must be stored before the turn continues; resolves when they are. */
  addStored(drafts: readonly Draft[], extras?: Extras): Promise<void> {
    const batch = this.#accept(drafts);
    if (extras !== undefined) batch.extras = { ...batch.extras, ...extras };
    const stored = committed(batch);
    this.#schedule();
    // The inbox can refuse only a write that ends a turn, and that is an exclusive one.
    return stored.then(noop);
  }

  /** A separate write after everything accepted so far. Resolves with whether it was refused. */
  exclusive(drafts: readonly Draft[], extras: Extras): Promise<AppendResult> {
    if (this.closed) return Promise.reject(this.failure ?? new TurnAborted("OwnershipLost"));
    const batch = exclusiveBatch(drafts, extras);
    this.#pending.push(batch);
    const result = committed(batch);
    this.#schedule();
    return result;
  }

  /** Adds the size of an event's content, which is negative when it replaces more. Returns false over the limit. */
  grow(bytes: number): boolean {
    return this.#size.grow(bytes, this.#deps.limits.taskMaxBytes);
  }

  /** Remembers the principal of an entry put into the inbox. */
  sentBy(entry: string, principal: Principal): void {
    this.#senders ??= new Map();
    this.#senders.set(entry, principal);
  }

  senderOf(entry: string): Principal | undefined {
    return this.#senders?.get(entry);
  }

  forgetSender(entry: string): void {
    this.#senders?.delete(entry);
  }

  /** Resolves when everything accepted so far is stored. */
  async flushed(): Promise<void> {
    while (this.#writing) await this.#nextCommit();
    if (this.failure !== undefined) throw this.failure;
  }

  /** `undefined` while the turn may be further ahead of the store, else a promise that resolves when it may. */
  room(): Promise<void> | undefined {
    const last = this.#pending.at(-1);
    if (last === undefined) return undefined;
    const { batchMaxEvents, batchMaxBytes } = this.#deps.limits;
    const full = last.drafts.length >= batchMaxEvents || last.bytes >= batchMaxBytes || this.#pending.length > 2;
    return full ? this.#nextCommit() : undefined;
  }

  /** Abandons the task without writing: another process writes it, or the store is gone. */
  abandon(reason: unknown): void {
    if (this.closed) return;
    if (!(reason instanceof TurnAborted)) loseTask(this.#deps, this, reason);
    this.#close({ name: "abandoned", reason });
    this.#deps.watch.moved(this.id);
  }

  #accept(drafts: readonly Draft[]): WriteBatch {
    if (this.closed) throw this.failure ?? new TurnAborted("OwnershipLost");
    let batch = this.#pending.at(-1);
    if (batch === undefined || batch.alone) {
      batch = openBatch();
      this.#pending.push(batch);
    }
    join(batch, drafts);
    return batch;
  }

  // At the end of the tick: events that an agent emits without waiting in between share one write.
  #schedule(): void {
    if (this.#writing) return;
    this.#writing = true;
    process.nextTick(() => void this.#writePending());
  }

  // One write at a time. The common case awaits only the store.
  async #writePending(): Promise<void> {
    for (;;) {
      const batch = this.closed ? undefined : this.#pending.shift();
      if (batch === undefined) break;
      let numbered: Write | undefined;
      const write = (): Write => (numbered ??= this.#number(batch));
      try {
        const made = await (this.#begun ? makeWrite(this.#deps, write()) : makeFirstWrite(this.#deps, write));
        this.#commit(batch, write(), made);
      } catch (error) {
        batch.settled?.reject(error);
        this.abandon(error);
      }
      this.#wake();
    }
    this.#writing = false;
    this.#wake();
  }

  #number({ drafts, bytes, extras }: WriteBatch): Write {
    let seq = this.#stored;
    const records: LogRecord[] = [];
    for (const draft of drafts) records.push(Object.assign(draft, { seq: ++seq }) as LogRecord);
    const status = this.#statusTimes.stamp(this.task, records);
    const snapshot = this.#snapshot(
      records,
      bytes,
      extras?.end !== undefined && status !== undefined && isTerminal(status.state),
    );
    return {
      task: this,
      fence: { key: this.#key, epoch: this.#epoch, seq: this.#stored },
      holder: this.#deps.instance,
      claim: extras?.claim,
      body: { records, bytes, status, end: extras?.end, takes: extras?.takes, snapshot },
    };
  }

  #commit(batch: WriteBatch, { body, claim }: Write, { result, head }: Outcome): void {
    if (head !== undefined) {
      this.#key = head.key;
      this.#identify(head.incarnation);
    }
    if (result === "fenced" || (result === "inboxMoved" && !batch.alone)) {
      const lost = new TurnAborted("OwnershipLost");
      // Another attempt of this process created the task, without a running turn.
      if (head?.holder === this.#deps.instance) loseTask(this.#deps, this, lost);
      if (batch.alone) batch.settled?.resolve(result);
      else batch.settled?.reject(lost);
      return this.abandon(lost);
    }
    if (result === "stored") {
      this.#begun = true;
      if (head !== undefined) {
        // An earlier attempt at the same task can no longer arrive.
        this.#deps.lost.delete(this.id);
        this.#epoch = head.epoch;
        this.#turn = head.turn;
      } else if (claim !== undefined) {
        this.#epoch++;
        this.#turn = claim.turn;
      }
      this.#publish(body);
    }
    batch.settled?.resolve(result);
  }

  #snapshot(records: readonly LogRecord[], bytes: number, finished: boolean): Write["body"]["snapshot"] {
    if (!this.#size.written(bytes, finished)) return undefined;
    const task = copyTask(this.task);
    for (const record of records) applyRecord(task, record);
    const size = sizeOfTask(task);
    this.#size.snapped(size);
    return { task, bytes: size };
  }

  #publish(body: Write["body"]): void {
    const { records, bytes, end } = body;
    for (const record of records) {
      applyRecord(this.task, record);
      this.#stored = record.seq;
      if (record.kind === "turnStarted") this.#messageSeq = record.message ?? record.seq + 1;
      if (record.kind === "message") this.#size.took(sizeOfMessage(record.message));
      for (const observer of this.#observers) observer.record(record, this.task);
    }
    this.tail.push(records, bytes);
    this.#window.wrote(this, body);
    if (end !== undefined) this.#close(ended);
    this.#deps.watch.moved(this.id);
    this.#deps.signals.publish({ kind: "moved", taskId: this.id });
  }

  #close(phase: LivePhase): void {
    this.#phase = phase;
    for (const { settled } of this.#pending.splice(0))
      settled?.reject(this.failure ?? new TurnAborted("OwnershipLost"));
    this.#wake();
    const observers = [...this.#observers];
    this.#observers.clear();
    for (const observer of observers) observer.left();
    this.#onClose?.();
  }

  #nextCommit(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  #identify(incarnation: string): void {
    this.#incarnation = incarnation;
    this.#idPrefix = eventIdPrefix(this.id, incarnation);
  }
}

/** The error for an event that exceeds a size limit. */
export function tooLarge(what: string, maxBytes: number): A2AError {
  return new A2AError("resourceExhausted", `${what} is over the limit of ${maxBytes} bytes`);
}
