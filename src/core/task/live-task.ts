import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { monotonic } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { sizeOfMessage, sizeOfTask } from "../../protocol/check/size.js";
import type { CallChain, Principal, ReadHeader, Scope } from "../../protocol/context.js";
import { A2AError } from "../../protocol/errors.js";
import { copyTask, emptyTask } from "../../protocol/fold.js";
import type { Logger } from "../../protocol/logger.js";
import { type Task, TaskState } from "../../protocol/model.js";
import { isTerminal } from "../../protocol/states.js";
import { TurnAborted } from "../agent.js";
import type { AgentConversations } from "../conversation/conversations.js";
import type { Lease } from "../lease.js";
import type { CoreLimits } from "../limits.js";
import type {
  AppendResult,
  Clock,
  LogRecord,
  Park,
  Signals,
  StoredTask,
  TaskStore,
  WriteBody,
  WrittenStatus,
} from "../ports.js";
import type { TurnMemory } from "../running-memory.js";
import { isStoreAnswer, Unanswered } from "../store-failure.js";
import type { StoreHealth } from "../store-health.js";
import type { Watch } from "../watch.js";
import { deriveEntries, type OpenArtifacts, updateOpenArtifacts } from "./conversation-tracker.js";
import { eventIdPrefix } from "./event-id.js";
import { applyRecord, foldStored, summaryAfter } from "./fold.js";
import { LogWindow } from "./log-window.js";
import { type Draft, sizeOfRecords } from "./record.js";
import { RecentItems, Tail } from "./tail.js";
import { type LateFirstWrite, makeFirstWrite, makeWrite, type Outcome, type Write } from "./write.js";

// How a task is recorded: from an event that a turn accepts to the stored records that readers get.
//
//   add ──▶ batch ──▶ write ──▶ store ──▶ fold, tail, observers, watch, other processes
//           drafts    records              (`#publish`)
//
// A turn adds drafts. They gather in batches: one write is under way, and what is added meanwhile shares the next one.
// An exclusive batch is a write of its own, which the store may refuse. When its turn comes, a batch is numbered, its
// statuses get their time (so that times never run backwards, whatever was emitted in parallel), and it becomes a write
// (write.ts), which is retried while the store fails. Once it is stored, its records are folded into the task,
// published and counted: persist, then publish. `waitForStore` holds a turn back that is too far ahead.
//
// The task is writable until its turn ends or it is abandoned. In between, a write that the store has answered with an
// error (`storeRefusal`) stops all that wait behind it, until the turn has ended with that error.
//
// Invariant: this object is the only writer of the log. Each write names the epoch and number it follows, so that one
// from a process that took the task over stops it: it is abandoned, and writes nothing more.
//
// The cost of an event does not depend on how many came before it: the fold works in place, snapshots are amortized,
// the tail is bounded.

/** A task that this process abandoned when the store failed. A write of it may still arrive. */
interface LostTask {
  readonly scope: Scope;
  /** Since when no write of it is under way. */
  idleSince: number;
  /** A write of it has no answer yet. */
  open: boolean;
  /** It was to be created, its send was refused, and no repeat of the send can attach to it. */
  readonly refused: boolean;
}

/** The parts of a `Runtime` that a live task works with. */
export interface LiveTaskDeps {
  readonly store: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly watch: Watch;
  readonly logger: Logger;
  readonly limits: CoreLimits;
  readonly instance: string;
  readonly lease: Lease;
  readonly health: StoreHealth;
  /** `undefined` when conversations are off. */
  readonly conversations: AgentConversations | undefined;
  /** Tasks abandoned after store failures, by id: their stored state is unknown. */
  readonly lostTasks: Map<string, LostTask>;
}

/** The sender of a message, as its call says. */
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

/** Effects of a write besides its records. */
export interface WriteExtras {
  readonly end?: { readonly inboxPut: number; readonly park?: Park | undefined } | undefined;
  readonly takes?: readonly string[] | undefined;
  readonly claim?: { readonly turn: number } | undefined;
}

/** Records that share one write. */
interface WriteBatch {
  readonly drafts: Draft[];
  bytes: number;
  extras: WriteExtras | undefined;
  /** Accepts no further records. */
  readonly alone: boolean;
  /** Set once the records are numbered. */
  write: Write | undefined;
  resolvers:
    | { readonly resolve: (result: AppendResult) => void; readonly reject: (reason: unknown) => void }
    | undefined;
  promise: Promise<AppendResult> | undefined;
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
  readonly tail = new Tail();
  readonly recentItems = new RecentItems();
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
  #lateness: LateFirstWrite | undefined;
  /** The error with which the store refused a write of the turn, until `endAfterStoreRefusal`. */
  #storeRefusal: A2AError | undefined;
  #onStoreRefusal: ((error: A2AError) => void) | undefined;
  readonly #observers = new Set<RecordObserver>();
  /** Senders of the entries in the inbox: a stored send has only its scope. */
  #senders: Map<string, Sender> | undefined;
  readonly #batches: WriteBatch[] = [];
  #isWriting = false;
  /** Called after each write. */
  #commitWaiters: (() => void)[] = [];
  /** Makes the error for records that come when the task is closed or a write was refused. */
  #rejection: (() => unknown) | undefined;
  /** Whether a write of this object has been stored. */
  #hasWritten = false;
  readonly #size = new TaskSize();
  /** Bytes of the task in memory: its content, and the records that wait for the store. */
  #heldBytes = 0;
  #memory: TurnMemory | undefined;
  readonly #window: LogWindow;
  /** Time of the last status, stored or about to be. */
  #statusTime = 0;
  #openArtifacts: OpenArtifacts;

  constructor(
    deps: LiveTaskDeps,
    source:
      | {
          readonly id: string;
          readonly contextId: string;
          readonly scope: Scope;
          readonly version: string;
          readonly name: string | undefined;
        }
      | StoredTask,
  ) {
    this.#deps = deps;
    this.#window = new LogWindow(deps);
    if ("head" in source) {
      const { head } = source;
      ({ id: this.id, contextId: this.contextId, scope: this.scope, version: this.version } = head);
      ({ key: this.#key, epoch: this.#epoch, seq: this.#storedSeq, inboxPut: this.#inboxPut, turn: this.#turn } = head);
      this.task = foldStored(source);
      this.#state = head.state;
      this.#statusTime = head.statusTime;
      this.#wakeAt = head.wakeAt;
      this.#size.resume(source, this.task);
      this.#countBytes(this.#size.task);
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
  onClosed(listener: () => void): void {
    this.#onClose = listener;
  }

  /** Lets the first write be late. Otherwise it fails after `storeWaitMs`, and the task is abandoned. */
  mayBeLate(lateness: LateFirstWrite): void {
    this.#lateness = lateness;
  }

  /** Whether the first write is still to come and may be late. */
  get outlivesSend(): boolean {
    return this.#lateness !== undefined;
  }

  /** The error of a write that the store has refused, such as one that is over a limit: the turn has to end with it. */
  get storeRefusal(): A2AError | undefined {
    return this.#storeRefusal;
  }

  /** Calls `listener` when the store refuses a write of the turn. Replaces an earlier listener. */
  onStoreRefusal(listener: (error: A2AError) => void): void {
    this.#onStoreRefusal = listener;
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

  /**
   * Accepts records for one write: at once if none is under way, else with the next one. `bytes`: their size, if it is
   * known.
   */
  add(drafts: readonly Draft[], bytes = sizeOfRecords(drafts)): void {
    this.#accept(drafts, bytes);
    this.#schedule();
  }

  /** The same for records that must be stored before the turn continues; resolves when they are. */
  addStored(drafts: readonly Draft[], bytes: number, extras?: WriteExtras): Promise<void> {
    const batch = this.#accept(drafts, bytes);
    if (extras !== undefined) batch.extras = { ...batch.extras, ...extras };
    const commit = awaitBatch(batch);
    this.#schedule();
    // The inbox can refuse only a write that ends a turn, and that is an exclusive one.
    return commit.then(noop);
  }

  /** A separate write after everything accepted so far. Resolves with whether it was refused. */
  exclusive(drafts: readonly Draft[], extras: WriteExtras): Promise<AppendResult> {
    if (this.#rejection !== undefined) return Promise.reject(this.#rejection());
    const batch = openBatch(true, extras);
    this.#batches.push(batch);
    this.#join(batch, drafts, sizeOfRecords(drafts));
    const result = awaitBatch(batch);
    this.#schedule();
    return result;
  }

  /** `undefined` while the turn may be further ahead of the store, else a promise that resolves when it may. */
  waitForStore(): Promise<void> | undefined {
    const last = this.#batches.at(-1);
    if (last === undefined) return undefined;
    const { batchMaxEvents, batchMaxBytes } = this.#deps.limits;
    const full = last.drafts.length >= batchMaxEvents || last.bytes >= batchMaxBytes || this.#batches.length > 2;
    return full ? this.#nextCommit() : undefined;
  }

  /** Resolves when everything accepted so far is stored. */
  async flush(): Promise<void> {
    await this.settle();
    if (this.failure !== undefined) throw this.failure;
    if (this.#storeRefusal !== undefined) throw this.#storeRefusal;
  }

  /** Resolves when no write is under way any more, even if the task was abandoned. */
  async settle(): Promise<void> {
    while (this.#isWriting) await this.#nextCommit();
  }

  /** Whether everything accepted is stored, and nothing failed. */
  get isSettled(): boolean {
    return !this.#isWriting && this.failure === undefined && this.#storeRefusal === undefined;
  }

  /** Whether the store may already have more than this process knows of. */
  get isWriting(): boolean {
    return this.#isWriting;
  }

  /** Counts the task towards the memory of its turn from now on. */
  countIn(memory: TurnMemory): void {
    this.#memory = memory;
    memory.add(this.#heldBytes);
  }

  #countBytes(bytes: number): void {
    this.#heldBytes += bytes;
    this.#memory?.add(bytes);
  }

  /** Size of the task. */
  get bytes(): number {
    return this.#size.task;
  }

  /** Adds the size of an event's content, which is negative when it replaces more. Returns false over the limit. */
  grow(bytes: number): boolean {
    const fits = this.#size.grow(bytes, this.#deps.limits.taskMaxBytes);
    if (fits) this.#countBytes(bytes);
    return fits;
  }

  /** Remembers the sender of an entry put into the inbox. */
  rememberSender(entry: string, { principal, header, chain, deadline, late }: Sender): void {
    this.#senders ??= new Map();
    this.#senders.set(entry, { principal, header, chain, deadline, late });
  }

  findSender(entry: string): Sender | undefined {
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
  async endAfterStoreRefusal(drafts: readonly Draft[]): Promise<void> {
    this.#storeRefusal = undefined;
    this.#rejection = undefined;
    await this.exclusive(drafts, { end: { inboxPut: 0 } });
  }

  /** Abandons the task without writing: another process writes it, or the store is gone. */
  abandon(reason: unknown): void {
    if (this.closed) return;
    if (!(reason instanceof TurnAborted)) trackLostTask(this.#deps, this, reason);
    this.#close({ name: "abandoned", reason });
    this.#deps.watch.noteChange(this.id);
  }

  #accept(drafts: readonly Draft[], bytes: number): WriteBatch {
    if (this.#rejection !== undefined) throw this.#rejection();
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.alone) {
      batch = openBatch(false);
      this.#batches.push(batch);
    }
    this.#join(batch, drafts, bytes);
    return batch;
  }

  #join(batch: WriteBatch, drafts: readonly Draft[], bytes: number): void {
    for (const draft of drafts) batch.drafts.push(draft);
    batch.bytes += bytes;
    this.#countBytes(bytes);
  }

  // At the end of the tick: events that an agent emits without waiting in between share one write.
  #schedule(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    process.nextTick(() => void this.#writePending());
  }

  async #writePending(): Promise<void> {
    for (let batch = this.#batches.shift(); batch !== undefined; batch = this.#batches.shift()) {
      try {
        const result = this.#apply(batch, await this.#write(batch));
        batch.resolvers?.resolve(result);
      } catch (error) {
        batch.resolvers?.reject(error);
        this.#fail(batch, error);
      }
      this.#countBytes(-batch.bytes);
      this.#noteCommit();
    }
    this.#isWriting = false;
    this.#noteCommit();
  }

  #nextCommit(): Promise<void> {
    return new Promise((resolve) => this.#commitWaiters.push(resolve));
  }

  #noteCommit(): void {
    if (this.#commitWaiters.length === 0) return;
    for (const resolve of this.#commitWaiters.splice(0)) resolve();
  }

  #write(batch: WriteBatch): Promise<Outcome> {
    if (this.#hasWritten) return makeWrite(this.#deps, this.#prepare(batch));
    return makeFirstWrite(this.#deps, () => this.#prepare(batch), this.#lateness);
  }

  #prepare(batch: WriteBatch): Write {
    batch.write ??= this.#number(batch);
    return batch.write;
  }

  #number({ drafts, bytes, extras }: WriteBatch): Write {
    let seq = this.#storedSeq;
    const records: LogRecord[] = [];
    for (const draft of drafts) records.push(Object.assign(draft, { seq: ++seq }) as LogRecord);
    const status = this.#stampStatuses(records);
    const snapshot = this.#snapshot(
      records,
      bytes,
      extras?.end !== undefined && status !== undefined && isTerminal(status.state),
    );
    return {
      task: this,
      fence: { key: this.#key, epoch: this.#epoch, seq: this.#storedSeq },
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

  // Times are by the store's clock, which all processes share, and never decrease. Returns the last status.
  #stampStatuses(records: readonly LogRecord[]): WrittenStatus | undefined {
    let last: WrittenStatus | undefined;
    for (const record of records) {
      if (record.kind !== "event" || record.event.payload.case !== "statusUpdate") continue;
      const { status } = record.event.payload.value;
      if (status === undefined) continue;
      this.#statusTime = Math.max(this.#deps.lease.storeTime(), this.#statusTime);
      status.timestamp = timestampFromMs(this.#statusTime);
      last = { state: status.state, time: this.#statusTime };
    }
    return last === undefined ? undefined : { ...last, summary: summaryAfter(this.task, records) };
  }

  #snapshot(records: readonly LogRecord[], bytes: number, endsTask: boolean): WriteBody["snapshot"] {
    if (!this.#size.countWrite(bytes, endsTask)) return undefined;
    const task = copyTask(this.task);
    for (const record of records) applyRecord(task, record);
    const size = sizeOfTask(task);
    this.#size.countSnapshot(size);
    return { task, bytes: size };
  }

  #conversation(records: readonly LogRecord[], time: number | undefined): WriteBody["conversation"] {
    const { conversations } = this.#deps;
    if (conversations === undefined) return undefined;
    const { log, replies } = conversations;
    replies.flushNow();
    const at = time ?? log.now();
    const facts = { taskId: this.id, at, maxBytes: log.entryMaxBytes };
    const entries = deriveEntries({ task: this.task, open: this.#openArtifacts }, records, facts);
    return log.write(this.scope, this.contextId, { entries, at });
  }

  #apply(batch: WriteBatch, { result, head }: Outcome): AppendResult {
    const { body, claim } = this.#prepare(batch);
    if (head !== undefined) {
      this.#key = head.key;
      this.#identify(head.incarnation);
    }
    if (result === "fenced" || (result === "inboxMoved" && !batch.alone)) {
      const reason = new TurnAborted("OwnershipLost");
      // Another attempt of this process created the task, without a running turn.
      if (head?.holder === this.#deps.instance) trackLostTask(this.#deps, this, reason);
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

  #publish(body: WriteBody): void {
    const { records, bytes, end } = body;
    this.#openArtifacts = updateOpenArtifacts(this.#openArtifacts, records);
    for (const record of records) {
      applyRecord(this.task, record);
      this.#storedSeq = record.seq;
      if (record.kind === "turnStarted") this.#messageSeq = record.message ?? record.seq + 1;
      if (record.kind === "message") this.#addMessage(sizeOfMessage(record.message));
      for (const observer of this.#observers) observer.record(record, this.task);
    }
    if (this.tail.push(records, bytes)) this.recentItems.clear();
    this.#window.count(this, body);
    if (end !== undefined) this.#close(endedPhase);
    this.#deps.watch.noteChange(this.id);
    this.#deps.signals.publish({ kind: "moved", taskId: this.id });
  }

  // A message of the caller was admitted before, so no limit applies.
  #addMessage(bytes: number): void {
    this.#size.grow(bytes, Number.POSITIVE_INFINITY);
    this.#countBytes(bytes);
  }

  // Nothing of a write is stored that the store has answered with an error, so this process still holds the task.
  #fail({ extras }: WriteBatch, error: unknown): void {
    if (!isStoreAnswer(error) || this.#key === undefined || extras?.claim !== undefined || this.closed) {
      this.abandon(error);
      return;
    }
    this.#storeRefusal = error;
    this.#rejectPending(() => error);
    this.#onStoreRefusal?.(error);
  }

  // Rejects what waits, and all that follows.
  #rejectPending(rejection: () => unknown): void {
    this.#rejection = rejection;
    for (const { bytes, resolvers } of this.#batches.splice(0)) {
      this.#countBytes(-bytes);
      resolvers?.reject(rejection());
    }
    this.#noteCommit();
  }

  #close(phase: LivePhase): void {
    this.#phase = phase;
    this.#rejectPending(() => this.failure ?? new TurnAborted("OwnershipLost"));
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

/** An empty batch. `alone`: nothing else may join it. */
function openBatch(alone: boolean, extras?: WriteExtras): WriteBatch {
  return { drafts: [], bytes: 0, extras, alone, write: undefined, resolvers: undefined, promise: undefined };
}

/** The result of a batch. The promise is made on demand: an artifact chunk never needs it. */
function awaitBatch(batch: WriteBatch): Promise<AppendResult> {
  batch.promise ??= new Promise((resolve, reject) => {
    batch.resolvers = { resolve, reject };
  });
  return batch.promise;
}

const leastSnapshotBytes = 64 << 10;

/** The sizes of a task: its content, its last snapshot, and the log since that snapshot. */
class TaskSize {
  #task = 0;
  #snapshot = 0;
  #log = 0;

  /** Size of the content. */
  get task(): number {
    return this.#task;
  }

  /** Initializes the sizes of a continued task from what is stored; `task` is its fold. */
  resume({ snapshot, records }: StoredTask, task: Task): void {
    this.#task = sizeOfTask(task);
    this.#snapshot = snapshot === undefined ? 0 : sizeOfTask(snapshot.task);
    this.#log = sizeOfRecords(records);
  }

  /** Adds the size of an event's content, which is negative when it replaces more. Returns false over the limit. */
  grow(bytes: number, maxBytes: number): boolean {
    if (this.#task + bytes > maxBytes) return false;
    this.#task += bytes;
    return true;
  }

  /**
   * Counts a write to the log. Returns true when it needs a snapshot: at the end of the task, and when the log has
   * outgrown the last one. A read then costs at most twice the task, and the cost of snapshots is amortized over the
   * events between them.
   */
  countWrite(bytes: number, endsTask: boolean): boolean {
    this.#log += bytes;
    return endsTask || this.#log >= Math.max(this.#snapshot, leastSnapshotBytes);
  }

  /** Counts a snapshot, which replaces the log before it. */
  countSnapshot(bytes: number): void {
    this.#snapshot = bytes;
    this.#log = 0;
  }
}

/** Remembers a task to look after until its last write can no longer arrive. */
export function trackLostTask(
  { lostTasks, clock }: Pick<LiveTaskDeps, "lostTasks" | "clock">,
  live: LiveTask,
  reason: unknown,
): void {
  const { id, scope, key, outlivesSend } = live;
  const open = reason instanceof Unanswered || live.isWriting;
  // A refused task that could not be ended yet stays refused.
  const refused = (key === undefined && !outlivesSend) || lostTasks.get(id)?.refused === true;
  const task: LostTask = { scope, idleSince: monotonic(clock), open, refused };
  lostTasks.set(id, task);
  if (!open) return;
  const answer = reason instanceof Unanswered ? reason.answer : live.settle();
  void answer.then(() => {
    task.open = false;
    task.idleSince = monotonic(clock);
  });
}

/** The error for a task whose history takes no more messages. */
export function historyFull(maxMessages: number): A2AError {
  return new A2AError(
    "resourceExhausted",
    `the history of the task is full: the limit is ${maxMessages} messages (historyMaxMessages)`,
    { metadata: { limit: "historyMaxMessages" } },
  );
}

/** The error for an event that exceeds the limit of this name. */
export function tooLarge(subject: string, limit: "eventMaxBytes" | "taskMaxBytes", maxBytes: number): A2AError {
  return new A2AError("resourceExhausted", `${subject} is over the limit of ${maxBytes} bytes (${limit})`, {
    metadata: { limit },
  });
}
