import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Scope } from "../protocol/context.js";
import { A2AError } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import { type Message, type Task, TaskState } from "../protocol/model.js";
import { isTerminal } from "../protocol/states.js";
import { TurnAborted } from "./agent.js";
import { eventIdPrefix } from "./event-id.js";
import { applyRecord, copyTask, emptyTask, foldStored } from "./fold.js";
import type { CoreLimits } from "./limits.js";
import type { AppendResult, Clock, LogRecord, Signals, StoredTask, TaskStore } from "./ports.js";
import { createTail, type Tail } from "./tail.js";
import type { Watch } from "./watch.js";
import { settleWrite, type Write } from "./write.js";

/** A record that has no number yet. */
export type Draft = Unnumbered<LogRecord>;
type Unnumbered<R> = R extends LogRecord ? Omit<R, "seq"> : never;

/** Somebody in this process who follows a live task record by record, in the moment it is stored. */
export interface RecordObserver {
  /** `task` is the fold up to and with the record; it goes on changing. */
  record(record: LogRecord, task: Task): void;
  /** This process does not run the task any more: its turn has ended, or was taken over. */
  left(): void;
}

export interface LiveTaskDeps {
  readonly store: TaskStore;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly watch: Watch;
  readonly logger: Logger;
  readonly limits: CoreLimits;
  readonly instance: string;
}

/** What a write does beside appending its records. */
interface Extras {
  readonly end?: { readonly inboxPut: number } | undefined;
  readonly takes?: readonly string[] | undefined;
  readonly claim?: { readonly turn: number } | undefined;
}

interface Batch {
  readonly drafts: Draft[];
  bytes: number;
  extras: Extras;
  readonly stored: Promise<void>;
  readonly settle: { resolve(): void; reject(reason: unknown): void };
}

interface Exclusive {
  readonly drafts: readonly Draft[];
  readonly bytes: number;
  readonly extras: Extras;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * A task that a turn of this process runs: the only writer of its log. Records are numbered when they go to the store
 * and folded, shown and counted when the store has them: persist, then publish.
 */
export class LiveTask {
  readonly id: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly version: string;
  /** The fold of what is stored. */
  readonly task: Task;
  readonly tail: Tail = createTail();
  readonly observers = new Set<RecordObserver>();
  key: number | undefined;
  incarnation = "";
  idPrefix = "";
  epoch = 0;
  /** Number of the last stored record. */
  stored = 0;
  inboxPut = 0;
  turn = 0;
  /** State of the last status that was accepted, stored or not. */
  state: TaskState = TaskState.UNSPECIFIED;
  /** Set when this process does not write the task any more. */
  closed = false;
  /** Why, when it was not the end of the turn. */
  failure: unknown;
  readonly #deps: LiveTaskDeps;
  #batch: Batch | undefined;
  readonly #exclusives: Exclusive[] = [];
  #running = false;
  #roomWaiters: (() => void)[] = [];
  #logBytes = 0;
  #snapshotBytes = 0;
  #taskBytes = 0;
  #statusTime = 0;

  constructor(deps: LiveTaskDeps, born: Pick<LiveTask, "id" | "contextId" | "scope" | "version"> | StoredTask) {
    this.#deps = deps;
    if ("head" in born) {
      const { head } = born;
      ({ id: this.id, contextId: this.contextId, scope: this.scope, version: this.version } = head);
      ({ key: this.key, epoch: this.epoch, seq: this.stored, inboxPut: this.inboxPut, turn: this.turn } = head);
      this.task = foldStored(born);
      this.state = head.state;
      this.#statusTime = head.statusTime;
      this.#identify(head.incarnation);
      return;
    }
    ({ id: this.id, contextId: this.contextId, scope: this.scope, version: this.version } = born);
    this.task = emptyTask(this.id, this.contextId);
  }

  /**
   * Accepts records, which travel in one write: at once when nothing is in flight, else with the next flight. The
   * promise resolves when they are stored.
   */
  add(drafts: readonly Draft[], bytes: number, extras?: Extras): Promise<void> {
    if (this.closed) throw this.failure ?? new TurnAborted("OwnershipLost");
    this.#taskBytes += bytes;
    this.#batch ??= newBatch();
    const batch = this.#batch;
    batch.drafts.push(...drafts);
    batch.bytes += bytes;
    if (extras !== undefined) batch.extras = { ...batch.extras, ...extras };
    this.#kick();
    return batch.stored;
  }

  /** Whether an event of this size still fits the task. */
  fits(bytes: number): boolean {
    return this.#taskBytes + bytes <= this.#deps.limits.taskMaxBytes;
  }

  /** Resolves when everything accepted so far is stored. */
  async flushed(): Promise<void> {
    while (this.#batch !== undefined || this.#running) {
      if (this.#batch !== undefined) await this.#batch.stored;
      else await new Promise<void>((resolve) => this.#roomWaiters.push(resolve));
    }
    if (this.failure !== undefined) throw this.failure;
  }

  /** `undefined` while there is room to be ahead of the store, else a promise of it. */
  room(): Promise<void> | undefined {
    const batch = this.#batch;
    if (batch === undefined) return undefined;
    const { batchMaxEvents, batchMaxBytes } = this.#deps.limits;
    return batch.drafts.length >= batchMaxEvents || batch.bytes >= batchMaxBytes
      ? new Promise((resolve) => this.#roomWaiters.push(resolve))
      : undefined;
  }

  /** A write of its own, behind everything accepted so far; the caller learns whether it was refused. */
  exclusive(drafts: readonly Draft[], bytes: number, extras: Extras): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      if (this.closed) return reject(this.failure ?? new TurnAborted("OwnershipLost"));
      this.#exclusives.push({ drafts, bytes, extras, resolve, reject });
      this.#kick();
    });
  }

  /** Gives the task up without a word to the store: somebody else writes it, or the store is gone. */
  abandon(reason: unknown): void {
    if (this.closed) return;
    this.closed = true;
    this.failure = reason;
    this.#batch?.settle.reject(reason);
    this.#batch = undefined;
    for (const { reject } of this.#exclusives.splice(0)) reject(reason);
    this.#release();
  }

  #kick(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  async #run(): Promise<void> {
    while (!this.closed) {
      const batch = this.#batch;
      if (batch !== undefined) {
        this.#batch = undefined;
        await this.#writeBatch(batch);
        this.#wakeRoom();
        continue;
      }
      const exclusive = this.#exclusives.shift();
      if (exclusive === undefined) break;
      await this.#writeExclusive(exclusive);
    }
    this.#running = false;
    this.#wakeRoom();
  }

  async #writeBatch(batch: Batch): Promise<void> {
    try {
      const result = await this.#write(batch.drafts, batch.bytes, batch.extras);
      // A batch that ends a turn does so in a terminal state, which no inbox can hold up.
      if (result !== "stored") throw new TurnAborted("OwnershipLost");
      batch.settle.resolve();
    } catch (error) {
      batch.settle.reject(error);
      this.abandon(error);
    }
  }

  async #writeExclusive({ drafts, bytes, extras, resolve, reject }: Exclusive): Promise<void> {
    try {
      const result = await this.#write(drafts, bytes, extras);
      if (result === "fenced") this.abandon(new TurnAborted("OwnershipLost"));
      resolve(result);
    } catch (error) {
      reject(error);
      this.abandon(error);
    }
  }

  async #write(drafts: readonly Draft[], bytes: number, extras: Extras): Promise<AppendResult> {
    const records = drafts.map((draft, index) => Object.assign(draft, { seq: this.stored + index + 1 }) as LogRecord);
    const status = this.#stamp(records);
    const ends = extras.end !== undefined;
    const write: Write = {
      task: this,
      fence: { key: this.key, epoch: this.epoch, seq: this.stored },
      holder: this.#deps.instance,
      claim: extras.claim,
      body: { records, bytes, status, end: extras.end, takes: extras.takes, snapshot: this.#snapshot(records, bytes, status, ends) },
    };
    const { result, head } = await settleWrite(this.#deps, write);
    if (result !== "stored") return result;
    if (head !== undefined) {
      this.key = head.key;
      this.#identify(head.incarnation);
      this.epoch = head.epoch;
      this.turn = head.turn;
    } else if (extras.claim !== undefined) {
      this.epoch++;
      this.turn = extras.claim.turn;
    }
    this.#publish(records, bytes, ends);
    return result;
  }

  // Sets the time of each status: now, but never before the last one. Gives the last status of the write.
  #stamp(records: readonly LogRecord[]): Write["body"]["status"] {
    let last: Write["body"]["status"];
    for (const record of records) {
      if (record.kind !== "event" || record.event.payload.case !== "statusUpdate") continue;
      const { status } = record.event.payload.value;
      if (status === undefined) continue;
      this.#statusTime = Math.max(this.#deps.clock.now(), this.#statusTime);
      status.timestamp = timestampFromMs(this.#statusTime);
      last = { state: status.state, time: this.#statusTime };
    }
    return last;
  }

  // A snapshot goes along when the log has outgrown the last one, and with the end of the task: then a read costs at
  // most twice the task, and its cost is spread over the events that made it necessary.
  #snapshot(records: readonly LogRecord[], bytes: number, status: Write["body"]["status"], ends: boolean): Write["body"]["snapshot"] {
    this.#logBytes += bytes;
    const finished = ends && status !== undefined && isTerminal(status.state);
    if (!finished && this.#logBytes < Math.max(this.#snapshotBytes, 64 << 10)) return undefined;
    const task = copyTask(this.task);
    for (const record of records) applyRecord(task, record);
    this.#snapshotBytes += this.#logBytes;
    this.#logBytes = 0;
    return { task, bytes: this.#snapshotBytes };
  }

  #publish(records: readonly LogRecord[], bytes: number, ends: boolean): void {
    for (const record of records) {
      applyRecord(this.task, record);
      this.stored = record.seq;
      for (const observer of this.observers) observer.record(record, this.task);
    }
    this.tail.push(records, bytes);
    if (ends) {
      this.closed = true;
      this.failure = undefined;
      this.#release();
    }
    this.#deps.watch.moved(this.id);
    this.#deps.signals.publish({ kind: "moved", taskId: this.id });
  }

  #release(): void {
    this.#wakeRoom();
    const observers = [...this.observers];
    this.observers.clear();
    for (const observer of observers) observer.left();
  }

  #wakeRoom(): void {
    for (const resolve of this.#roomWaiters.splice(0)) resolve();
  }

  #identify(incarnation: string): void {
    this.incarnation = incarnation;
    this.idPrefix = eventIdPrefix(this.id, incarnation);
  }
}

function newBatch(): Batch {
  let settle: Batch["settle"] = { resolve: () => {}, reject: () => {} };
  const stored = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // Whoever needs to know awaits it; a batch of chunks that fails is heard of by the next event.
  stored.catch(() => {});
  return { drafts: [], bytes: 0, extras: {}, stored, settle };
}

/** The error of a turn whose next event would not fit any more. */
export function tooLarge(what: string, maxBytes: number): A2AError {
  return new A2AError("resourceExhausted", `${what} is over the limit of ${maxBytes} bytes`);
}

/** A caller's message as the log holds it: with the ids of its task. */
export function messageDraft(live: { readonly id: string; readonly contextId: string }, entry: string, message: Message): Draft {
  return { kind: "message", entry, message: { ...message, taskId: live.id, contextId: live.contextId } };
}
