import { sizeOfMessage, sizeOfTask } from "../../protocol/check/size.js";
import type { CallChain, Principal, ReadHeader, Scope } from "../../protocol/context.js";
import type { A2AError } from "../../protocol/errors.js";
import { copyTask, emptyTask } from "../../protocol/fold.js";
import { type Task, TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { TurnAborted } from "../agent.js";
import type { AppendResult, LogRecord, StoredTask } from "../ports.js";
import type { TurnMemory } from "../running-memory.js";
import { isAnswer } from "../store-failure.js";
import { entriesOf, type OpenArtifacts, openAfter } from "./conversation-tracker.js";
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
import { type Lateness, makeFirstWrite, makeWrite, type Outcome, type Write } from "./write.js";
import type { WriteBatch, WriteExtras } from "./write-batch.js";
import { WriteQueue } from "./write-queue.js";

// A live task is what a turn writes: from an event to the stored records that readers get.

/** Who sent a message, as its call says. */
export interface Sender {
  readonly principal: Principal;
  readonly header?: ReadHeader | undefined;
  readonly chain?: CallChain | undefined;
  readonly deadline?: number | undefined;
  readonly late?: AbortSignal | undefined;
}

/** A reader in this process that receives each record of a live task the moment it is stored. */
export interface RecordObserver {
  /** `task` is the fold up to and including the record; it keeps changing. */
  record(record: LogRecord, task: Task): void;
  /** This process no longer runs the task: its turn ended or was taken over. */
  onLeave(): void;
}

/** Whether this process may write the task: until its turn ends or the task is abandoned. */
type LivePhase = { readonly name: "writable" | "ended" } | { readonly name: "abandoned"; readonly reason: unknown };

const writablePhase: LivePhase = { name: "writable" };
const endedPhase: LivePhase = { name: "ended" };

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
  readonly recentItems: RecentItems = createRecentItems();
  readonly #deps: LiveTaskDeps;
  #key: number | undefined;
  #incarnation = "";
  #idPrefix = "";
  #epoch = 0;
  #storedSeq = 0;
  #inboxPut = 0;
  #turn = 1;
  #messageSeq = 0;
  #wakeAt: number | undefined;
  #state: TaskState = TaskState.UNSPECIFIED;
  #phase: LivePhase = writablePhase;
  #onClose: (() => void) | undefined;
  #lateness: Lateness | undefined;
  /** What the store answered when it refused a write of the turn, until `endAfterRefusal`. */
  #refusal: A2AError | undefined;
  #onRefusal: ((error: A2AError) => void) | undefined;
  readonly #observers = new Set<RecordObserver>();
  /** Senders of the entries in the inbox: a stored send has only its scope. */
  #senders: Map<string, Sender> | undefined;
  readonly #writes: WriteQueue;
  /** Whether a write of this object has been stored. */
  #hasWritten = false;
  readonly #size = new TaskSize((bytes) => this.#hold(bytes));
  /** Bytes of the task in memory: its content, and the records that wait for the store. */
  #heldBytes = 0;
  #memory: TurnMemory | undefined;
  readonly #window: LogWindow;
  readonly #statusTimes: StatusTimes;
  #openArtifacts: OpenArtifacts;

  constructor(
    deps: LiveTaskDeps,
    source: Pick<LiveTask, "id" | "contextId" | "scope" | "version" | "name"> | StoredTask,
  ) {
    this.#deps = deps;
    this.#writes = new WriteQueue(deps.limits, {
      write: (batch) => this.#write(batch),
      apply: (batch, outcome) => this.#apply(batch, outcome),
      fail: (batch, error) => this.#fail(batch, error),
      hold: (bytes) => this.#hold(bytes),
    });
    this.#window = new LogWindow(deps);
    this.#statusTimes = new StatusTimes(deps.lease, "head" in source ? source.head.statusTime : 0);
    if ("head" in source) {
      const { head } = source;
      ({ id: this.id, contextId: this.contextId, scope: this.scope, version: this.version } = head);
      ({ key: this.#key, epoch: this.#epoch, seq: this.#storedSeq, inboxPut: this.#inboxPut, turn: this.#turn } = head);
      this.task = foldStored(source);
      this.#state = head.state;
      this.#wakeAt = head.wakeAt;
      this.#size.resume(source, this.task);
      this.#hold(this.#size.task);
      this.#identify(head.incarnation);
      return;
    }
    ({ id: this.id, contextId: this.contextId, scope: this.scope, version: this.version } = source);
    this.name = source.name;
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
  get storedSeq(): number {
    return this.#storedSeq;
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
    return this.#phase !== writablePhase;
  }

  /** Why the task was abandoned; `undefined` if its turn ended. */
  get failure(): unknown {
    return this.#phase.name === "abandoned" ? this.#phase.reason : undefined;
  }

  /** Calls `listener` once the task is closed. Replaces an earlier listener. */
  whenClosed(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Lets the first write be late. Otherwise it fails after `storeWaitMs`, and the task is abandoned. */
  mayBeLate(lateness: Lateness): void {
    this.#lateness = lateness;
  }

  /** Whether the first write is still to come and may be late. */
  get outlivesSend(): boolean {
    return this.#lateness !== undefined;
  }

  /** The error of a write that the store has refused, such as one that is over a limit: the turn has to end with it. */
  get refusal(): A2AError | undefined {
    return this.#refusal;
  }

  /** Calls `listener` when the store refuses a write of the turn. Replaces an earlier listener. */
  whenRefused(listener: (error: A2AError) => void): void {
    this.#onRefusal = listener;
  }

  observe(observer: RecordObserver): void {
    this.#observers.add(observer);
  }

  unobserve(observer: RecordObserver): void {
    this.#observers.delete(observer);
  }

  /** Sets the state of a status being accepted, or restores the previous one. */
  setState(state: TaskState): void {
    this.#state = state;
  }

  /** Sets the inbox counter: that of an empty inbox, or -1 when its content is unknown. */
  setInboxPut(inboxPut: number): void {
    this.#inboxPut = inboxPut;
  }

  /**
   * Sets the time until which the ending turn parks the task, so that the next turn can restore it; `undefined` without
   * a time.
   */
  setWakeAt(wakeAt: number | undefined): void {
    this.#wakeAt = wakeAt;
  }

  /** Accepts records for a write, as `WriteQueue` says; so do the next three. */
  add(drafts: readonly Draft[]): void {
    this.#writes.add(drafts);
  }

  addStored(drafts: readonly Draft[], extras?: WriteExtras): Promise<void> {
    return this.#writes.addStored(drafts, extras);
  }

  exclusive(drafts: readonly Draft[], extras: WriteExtras): Promise<AppendResult> {
    return this.#writes.exclusive(drafts, extras);
  }

  room(): Promise<void> | undefined {
    return this.#writes.room();
  }

  /** Counts the task towards the memory of its turn from now on. */
  countIn(memory: TurnMemory): void {
    this.#memory = memory;
    memory.add(this.#heldBytes);
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#memory?.add(bytes);
  }

  /** Whether the store may already have more than this process knows of. */
  get isWriting(): boolean {
    return this.#writes.isWriting;
  }

  /** Resolves when no write is under way any more, even if the task was abandoned. */
  settle(): Promise<void> {
    return this.#writes.flush();
  }

  /** Resolves when everything accepted so far is stored. */
  async flush(): Promise<void> {
    await this.#writes.flush();
    if (this.failure !== undefined) throw this.failure;
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  /** Size of the task. */
  get bytes(): number {
    return this.#size.task;
  }

  /** Adds the size of an event's content, which is negative when it replaces more. Returns false over the limit. */
  grow(bytes: number): boolean {
    return this.#size.grow(bytes, this.#deps.limits.taskMaxBytes);
  }

  /** Remembers the sender of an entry put into the inbox. */
  rememberSender(entry: string, { principal, header, chain, deadline, late }: Sender): void {
    this.#senders ??= new Map();
    this.#senders.set(entry, { principal, header, chain, deadline, late });
  }

  senderOf(entry: string): Sender | undefined {
    return this.#senders?.get(entry);
  }

  forgetSender(entry: string): void {
    this.#senders?.delete(entry);
  }

  /** Sets the artifacts that have no entry in the conversation yet, when a turn of another process is continued. */
  resumeArtifacts(open: OpenArtifacts): void {
    this.#openArtifacts = open;
  }

  /** Writes the end of a turn of which the store has refused a write. */
  async endAfterRefusal(drafts: readonly Draft[]): Promise<void> {
    this.#refusal = undefined;
    this.#writes.resume();
    await this.exclusive(drafts, { end: { inboxPut: 0 } });
  }

  /** Abandons the task without writing: another process writes it, or the store is gone. */
  abandon(reason: unknown): void {
    if (this.closed) return;
    if (!(reason instanceof TurnAborted)) loseTask(this.#deps, this, reason);
    this.#close({ name: "abandoned", reason });
    this.#deps.watch.noteChange(this.id);
  }

  // Nothing of a write is stored that the store has answered with an error, so this process still holds the task.
  #fail({ extras }: WriteBatch, error: unknown): void {
    if (!isAnswer(error) || this.#key === undefined || extras?.claim !== undefined || this.closed) {
      this.abandon(error);
      return;
    }
    this.#refusal = error;
    this.#writes.close(() => error);
    this.#onRefusal?.(error);
  }

  #write(batch: WriteBatch): Promise<Outcome> {
    if (this.#hasWritten) return makeWrite(this.#deps, this.#writeOf(batch));
    return makeFirstWrite(this.#deps, () => this.#writeOf(batch), this.#lateness);
  }

  #writeOf(batch: WriteBatch): Write {
    batch.write ??= this.#number(batch);
    return batch.write;
  }

  #number({ drafts, bytes, extras }: WriteBatch): Write {
    let seq = this.#storedSeq;
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
      fence: { key: this.#key, epoch: this.#epoch, seq: this.#storedSeq },
      holder: this.#deps.instance,
      claim: extras?.claim,
      body: {
        records,
        bytes,
        status,
        end: extras?.end,
        takes: extras?.takes,
        snapshot,
        conversation: this.#conversation(records, status?.time),
      },
    };
  }

  #conversation(records: readonly LogRecord[], time: number | undefined): Write["body"]["conversation"] {
    const { conversations } = this.#deps;
    if (conversations === undefined) return undefined;
    const { log, replies } = conversations;
    replies.hurry();
    const at = time ?? log.now();
    const facts = { taskId: this.id, at, maxBytes: log.entryMaxBytes };
    const entries = entriesOf({ task: this.task, open: this.#openArtifacts }, records, facts);
    return log.write(this.scope, this.contextId, { entries, at });
  }

  #apply(batch: WriteBatch, { result, head }: Outcome): AppendResult {
    const { body, claim } = this.#writeOf(batch);
    if (head !== undefined) {
      this.#key = head.key;
      this.#identify(head.incarnation);
    }
    if (result === "fenced" || (result === "inboxMoved" && !batch.alone)) {
      const reason = new TurnAborted("OwnershipLost");
      // Another attempt of this process created the task, without a running turn.
      if (head?.holder === this.#deps.instance) loseTask(this.#deps, this, reason);
      if (!batch.alone) throw reason;
      this.abandon(reason);
      return result;
    }
    if (result !== "stored") return result;
    this.#hasWritten = true;
    this.#lateness = undefined;
    if (head !== undefined) {
      // An earlier attempt at the same task can no longer arrive. One that was abandoned meanwhile has no turn.
      if (!this.closed) this.#deps.lostTasks.delete(this.id);
      this.#epoch = head.epoch;
      this.#turn = head.turn;
    } else if (claim !== undefined) {
      this.#epoch++;
      this.#turn = claim.turn;
    }
    this.#publish(body);
    return result;
  }

  #snapshot(records: readonly LogRecord[], bytes: number, endsTask: boolean): Write["body"]["snapshot"] {
    if (!this.#size.countWrite(bytes, endsTask)) return undefined;
    const task = copyTask(this.task);
    for (const record of records) applyRecord(task, record);
    const size = sizeOfTask(task);
    this.#size.countSnapshot(size);
    return { task, bytes: size };
  }

  #publish(body: Write["body"]): void {
    const { records, bytes, end } = body;
    this.#openArtifacts = openAfter(this.#openArtifacts, records);
    for (const record of records) {
      applyRecord(this.task, record);
      this.#storedSeq = record.seq;
      if (record.kind === "turnStarted") this.#messageSeq = record.message ?? record.seq + 1;
      if (record.kind === "message") this.#size.addMessage(sizeOfMessage(record.message));
      for (const observer of this.#observers) observer.record(record, this.task);
    }
    if (this.tail.push(records, bytes)) this.recentItems.clear();
    this.#window.count(this, body);
    if (end !== undefined) this.#close(endedPhase);
    this.#deps.watch.noteChange(this.id);
    this.#deps.signals.publish({ kind: "moved", taskId: this.id });
  }

  #close(phase: LivePhase): void {
    this.#phase = phase;
    this.#writes.close(() => this.failure ?? new TurnAborted("OwnershipLost"));
    const observers = [...this.#observers];
    this.#observers.clear();
    for (const observer of observers) observer.onLeave();
    this.#onClose?.();
  }

  #identify(incarnation: string): void {
    this.#incarnation = incarnation;
    this.#idPrefix = eventIdPrefix(this.id, incarnation);
  }
}
