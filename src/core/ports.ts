import type { JsonValue } from "@bufbuild/protobuf";
import type { Scope } from "../protocol/context.js";
import type { ErrorCode, FieldViolation } from "../protocol/errors.js";
import type { Logger } from "../protocol/logger.js";
import type {
  Message,
  SendMessageConfiguration,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from "../protocol/model.js";

export type { Clock } from "../protocol/async/clock.js";

// All that the core asks of the outside. Each port has a contract suite in test/contract that every implementation runs.

/** Why a turn was started. */
export type TurnCause = "message" | "wake" | "restart";

/**
 * One record of a task's log. `seq` counts up by one within a task. Readers of the protocol see the `event` records;
 * gaps between their numbers are normal.
 */
export type LogRecord =
  | { readonly kind: "event"; readonly seq: number; readonly event: StreamResponse }
  /** A caller's message, taken by a turn. `entry` is the id of the send that brought it. */
  | {
      readonly kind: "message";
      readonly seq: number;
      readonly message: Message;
      readonly entry: string;
      /** What else the send said; left out when it said nothing else. */
      readonly context?: SendContext | undefined;
    }
  | {
      readonly kind: "turnStarted";
      readonly seq: number;
      readonly turn: number;
      readonly attempt: number;
      readonly cause: TurnCause;
      /** What the wake that started the turn, or the turn that it runs again, has brought. */
      readonly wake?: JsonValue | undefined;
      /** Number of the record with the turn's message. Default: the next one. */
      readonly message?: number | undefined;
    }
  /** `error` is the answer of the send that started the turn. */
  | {
      readonly kind: "turnEnded";
      readonly seq: number;
      readonly error?: RecordedError | undefined;
    }
  /** The turn is left to another process, which runs it again: that is no failure of it, and counts for none. */
  | { readonly kind: "turnReleased"; readonly seq: number }
  /** The turn has ended and goes on later: its sends still wait. A write without it could not be told from none. */
  | { readonly kind: "turnParked"; readonly seq: number };

/** An `A2AError` as a log keeps it: all that its caller may see. */
export interface RecordedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly violations: readonly FieldViolation[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
}

/** What a store knows of a task without opening it. */
export interface Head {
  /** The store's own number of the task; ascends with creation. Calls by key follow a scoped `read`. */
  readonly key: number;
  readonly id: string;
  readonly contextId: string;
  readonly scope: Scope;
  /** Changes when a log is restored or reset, so that old event ids are recognised. */
  readonly incarnation: string;
  /** Number of the last record. */
  readonly seq: number;
  /** Raised by each claim. */
  readonly epoch: number;
  /** Instance whose turn runs the task; `""` without one. */
  readonly holder: string;
  /** Whether the holder's instance had not expired when this was read, by the store's clock. False without a holder. */
  readonly holderLive: boolean;
  readonly state: TaskState;
  /** Milliseconds since the epoch; never runs backwards. */
  readonly statusTime: number;
  /** How many entries were ever put into the task's inbox. */
  readonly inboxPut: number;
  /** Ordinal of the last turn that was started. */
  readonly turn: number;
  /** Number of the record that started it; 0 before the first. */
  readonly turnSeq: number;
  /** When a parked task is to be woken, in milliseconds since the epoch; `undefined` for one that waits for no time. */
  readonly wakeAt: number | undefined;
  /** Protocol version in which the task was made. */
  readonly version: string;
}

/** A task at a position: what `records` adds to `task` is the whole of it up to `head.seq`. */
export interface StoredTask {
  readonly head: Head;
  /** The fold up to `seq`; `undefined` when the whole log is given. Not to be changed. */
  readonly snapshot: { readonly seq: number; readonly task: Task } | undefined;
  readonly records: readonly LogRecord[];
}

interface WriteBody {
  /** Numbered from the fence's `seq + 1` (from 1 for a new task), without gaps. */
  readonly records: readonly LogRecord[];
  /** About how many bytes the records take. */
  readonly bytes: number;
  /** Set when a record of this write changes the state. */
  readonly status?: { readonly state: TaskState; readonly time: number } | undefined;
  /** The fold up to the last record; given when the log has outgrown the last snapshot. Not changed afterwards. */
  readonly snapshot?: { readonly task: Task; readonly bytes: number } | undefined;
  /**
   * Ends the turn: the holder is cleared. Unless the state is terminal the write is refused with `inboxMoved` when
   * `inboxPut` is no longer the head's. With a terminal state all that waits in the inbox is dropped in the same write.
   */
  readonly end?: { readonly inboxPut: number; readonly park?: Park | undefined } | undefined;
  /** Ids of inbox entries that this write takes out. When one of them no longer waits, the write is `inboxMoved`. */
  readonly takes?: readonly string[] | undefined;
}

/** A turn that ends here and goes on later. */
export interface Park {
  /** When, in milliseconds since the epoch by the store's clock; `undefined`: when it is woken. */
  readonly wakeAt: number | undefined;
}

/** The first write of a task. It starts at epoch 1, held by `holder` (or by none when the write ends the turn). */
export interface NewTask extends WriteBody {
  readonly id: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly holder: string;
  readonly version: string;
  /** Name that its caller has given it, in a version where callers do; unique in the scope. */
  readonly name?: string | undefined;
  readonly status: { readonly state: TaskState; readonly time: number };
}

/** A write to a task that exists. It applies only when the head still has this `epoch` and `seq`. */
export interface Append extends WriteBody {
  readonly key: number;
  readonly epoch: number;
  readonly seq: number;
  /** Starts a turn: raises the epoch by one, sets the holder and the turn's ordinal. */
  readonly claim?: { readonly holder: string; readonly turn: number } | undefined;
}

/** `fenced`: epoch or number did not match, nothing was written. */
export type AppendResult = "stored" | "fenced" | "inboxMoved";

/** Something that waits for the turn of a task: a follow-up message, a cancel, a wake. */
export interface InboxEntry {
  readonly id: string;
  readonly kind: "message" | "cancel" | "wake";
  /** Set for a message. */
  readonly send?: QueuedSend | undefined;
  /** What a wake brings. */
  readonly wake?: JsonValue | undefined;
}

/** What a send says beside its message. */
export interface SendContext {
  readonly configuration: SendMessageConfiguration | undefined;
  readonly metadata: Message["metadata"];
  readonly extensions: readonly string[];
}

/** What a turn needs of a send that it did not receive itself. Holds no credentials. */
export interface QueuedSend extends SendContext {
  readonly message: Message;
}

/**
 * `idle`: the task has no holder, so the receiver claims it. `ended`: its state is terminal. `moved`: the fence did not
 * match, nothing was put.
 */
export type PutResult = "stored" | "full" | "idle" | "ended" | "moved";

/** What a task's inbox was seen as: an entry is put only while the head still has this `epoch` and `inboxPut`. */
export interface PutFence {
  readonly epoch: number;
  readonly inboxPut: number;
}

/** Names one try of a send that shall be done once: its record, and that it was not taken since. */
export interface SendClaim {
  readonly scope: Scope;
  readonly messageId: string;
  /** Id of the send: with it stands the message in the log and in the inbox, whichever try brought it there. */
  readonly entry: string;
  /** From 1; raised by each `takeSend`. */
  readonly attempt: number;
}

/** The record of a send that shall be done once, as it is when the send begins. One of a scope has a `messageId`. */
export interface NewSend extends Omit<SendClaim, "attempt"> {
  /** Digest of the content: another one under the same `messageId` is another message. */
  readonly digest: string;
  /** The task that the message goes to, or the id that its new task will have if there is to be one. */
  readonly taskId: string;
  /** Number of the last record of the task before the message; 0 for a message that starts a task. */
  readonly seq: number;
  /** Who brings the message to its task; `""` when none does any more. */
  readonly instance: string;
}

export interface SendRecord extends NewSend, SendClaim {
  /** Whether the instance had not expired when this was read, by the store's clock. */
  readonly live: boolean;
  /** `undefined` as long as the send may still come to nothing. */
  readonly outcome: SentOutcome | undefined;
}

/** What a send came to. `task`: its message has reached the task of the record, whose log says the rest. */
export type SentOutcome =
  | { readonly kind: "task" }
  | { readonly kind: "reply"; readonly message: Message }
  | { readonly kind: "error"; readonly error: RecordedError };

/** Which tasks a page holds: filters combine, newest status first, then the higher key. */
export interface ListQuery {
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Milliseconds since the epoch, inclusive. May have a fraction; status times have none. */
  readonly since?: number | undefined;
  readonly limit: number;
  /** The last task of the page before. A forged one may have a time with a fraction, or be no task's. */
  readonly after?: { readonly statusTime: number; readonly key: number } | undefined;
}

export interface ListPage {
  readonly tasks: readonly StoredTask[];
  /** Tasks that match, before paging. */
  readonly total: number;
  /** True when tasks follow the last one of this page. */
  readonly more: boolean;
}

/** A place among the parked tasks: that of one whose head has these, whether it still stands there or not. */
export interface DueCursor {
  readonly wakeAt: number;
  readonly key: number;
}

/**
 * Where tasks live. Every method may reject when the store cannot be reached; a caller then does not know whether a
 * write took effect and finds out by reading the head.
 */
export interface TaskStore {
  /**
   * Creates a task. Rejects when its id exists, or when another task of the scope has its name; with `invalidParams` when
   * its agent, owner, tenant, ids or name are longer than what every store takes (`protocol/indexed-text.ts`).
   */
  create(task: NewTask): Promise<Head>;
  /** The id of the task that has this name in the scope. The name goes with its task. */
  taskNamed(scope: Scope, name: string): Promise<string | undefined>;
  /** Appends under the fence. Group commit is the store's own: writes that wait on each other travel together. */
  append(write: Append): Promise<AppendResult>;
  /** One consistent read; `undefined` for a task that is missing or not in the scope. */
  read(scope: Scope, id: string): Promise<StoredTask | undefined>;
  /** The head alone. */
  head(scope: Scope, id: string): Promise<Head | undefined>;
  /**
   * Records with `seq > after`, oldest first, at most `limit`, with the head of the same moment. `compacted`: the log no
   * longer reaches back to `after`.
   */
  recordsAfter(
    key: number,
    after: number,
    limit: number,
  ): Promise<{ readonly head: Head; readonly records: readonly LogRecord[] } | "compacted" | undefined>;
  /** Heads of the tasks that still exist, in any order. */
  heads(keys: readonly number[]): Promise<readonly Head[]>;
  list(scope: Scope, query: ListQuery): Promise<ListPage>;
  /**
   * Puts an entry into the inbox of a task that is held. At most `maxMessages` messages wait; one cancel and one wake
   * always fit (a second one is `stored` without effect). Raises the head's `inboxPut` when it took effect. With a
   * fence it is `moved` when the head has another epoch or `inboxPut`.
   */
  put(key: number, entry: InboxEntry, maxMessages: number, fence?: PutFence): Promise<PutResult>;
  /** What waits, oldest first, cancels before messages, and the head's `inboxPut` of the same moment. */
  inbox(key: number): Promise<{ readonly entries: readonly InboxEntry[]; readonly inboxPut: number }>;
  /** Takes an entry back; false when it was no longer waiting. */
  withdraw(key: number, entryId: string): Promise<boolean>;
  /** Registers an instance, or renews it: it expires `ttlMs` from now by the store's clock. */
  renew(instance: string, ttlMs: number): Promise<void>;
  /** Ends an instance at once. */
  retire(instance: string): Promise<void>;
  /** Heads of an agent's tasks whose holder has expired, the lowest key first, at most `limit`. `after`: a key before theirs. */
  orphans(agent: string, limit: number, after?: number): Promise<readonly Head[]>;
  /**
   * Heads of an agent's parked tasks whose time has come by the store's clock, the earliest first, of one time the lower
   * key, at most `limit`. `after`: those behind this place.
   */
  due(agent: string, limit: number, after?: DueCursor): Promise<readonly Head[]>;
  /**
   * Adds the record of a send at attempt 1, unless there is one for its scope and `messageId`. Gives the record that
   * stands there then: the caller's own when it has the caller's `entry`. A store may forget records that are old or too
   * many, the oldest first. Rejects with `invalidParams` for a scope or a `messageId` that is too long, as `create` does.
   */
  beginSend(send: NewSend): Promise<SendRecord>;
  readSend(scope: Scope, messageId: string): Promise<SendRecord | undefined>;
  /** Hands the record to an instance and raises its attempt. False, without effect, unless the claim matches and there is no outcome. */
  takeSend(claim: SendClaim, instance: string): Promise<boolean>;
  /**
   * Writes down what the send came to; `bytes`: about what that takes. False when the claim does not match. An outcome
   * that is there already stays, and the answer is true.
   */
  settleSend(claim: SendClaim, outcome: SentOutcome, bytes: number): Promise<boolean>;
  /** Deletes the record, with its outcome if it has one. False when the claim does not match. */
  forgetSend(claim: SendClaim): Promise<boolean>;
  close(): Promise<void>;
}

/** A push configuration and how far its webhook has been told: the number of the last record that was dealt with. */
export interface PushRegistration {
  readonly key: number;
  readonly taskId: string;
  readonly scope: Scope;
  readonly config: TaskPushNotificationConfig;
  readonly cursor: number;
  /** Protocol version in which the configuration was made; deliveries speak it. */
  readonly version: string;
  /** What the caller of that version calls the task, when that is not its id. */
  readonly taskName?: string | undefined;
  /** Instance that delivers; `""` without one. */
  readonly holder: string;
  /** The task has ended and nothing is owed: kept for readers with the holder `""`, and given to no instance. Default: false. */
  readonly settled?: boolean | undefined;
}

/** What a delivery that is done knows of its configuration: who holds it, and the last record of the task. */
export interface PushEnd {
  readonly holder: string;
  readonly cursor: number;
}

/** Push configurations with their delivery cursor over the log. Credentials are kept here and nowhere else. */
export interface PushStore {
  /** Adds or replaces by `config.id`, which has a limit like the ids of a task. `full`: the task has `max` others already. Replacing keeps the cursor given. */
  set(registration: PushRegistration, max: number): Promise<"stored" | "full">;
  get(key: number, id: string): Promise<PushRegistration | undefined>;
  /** Oldest first. */
  list(key: number): Promise<readonly PushRegistration[]>;
  /** Deleting what is not there does no harm. */
  delete(key: number, id: string): Promise<void>;
  /** Moves a cursor forward; ignored for a configuration that is gone. */
  advance(key: number, id: string, cursor: number): Promise<void>;
  /** Settles a configuration. Ignored when it is gone, or another instance holds it by now. */
  settle(key: number, id: string, end: PushEnd): Promise<void>;
  /**
   * Gives an agent's configurations without a holder, or with an expired one, to this instance: those of tasks with records
   * behind the cursor, at most `limit`. A store that does not know the tasks may give others too, but none that are settled.
   */
  adopt(agent: string, instance: string, limit: number): Promise<readonly PushRegistration[]>;
  /** Releases all that an instance holds. */
  release(instance: string): Promise<void>;
  close(): Promise<void>;
}

/** A storage of tasks, with its push store and signals if it has some. Each part is used unless another one is given. */
export interface Store extends TaskStore {
  /** Other processes are likely to work on it too: who is sent away finds everything there. Default: false. */
  readonly shared?: boolean | undefined;
  readonly push?: PushStore | undefined;
  readonly signals?: Signals | undefined;
  /**
   * Gets ready for the first call. Rejects with a sentence when the place cannot be used. `logger`: told of what takes
   * long, unless the store has one of its own. Default: nothing to do.
   */
  open?(logger?: Logger): Promise<void>;
}

/** What the core needs of push notifications: the store, the checks that are policy, and the delivery. */
export interface PushService {
  readonly store: PushStore;
  /** What is wrong with a configuration: its URL may not be called, a header would be broken, … */
  check(config: TaskPushNotificationConfig): readonly FieldViolation[];
  /** A registration was added or replaced: what its task does from `cursor` on is to be delivered. */
  added(registration: PushRegistration): void;
  /** A registration was deleted: nothing more is sent to it. */
  removed(taskId: string, id: string): void;
}

/** `moved`: the task has new records. `inbox`: something was put into its inbox. */
export interface Hint {
  readonly kind: "moved" | "inbox";
  readonly taskId: string;
}

/** Hints between handlers of one store. They may be lost, late or doubled: they only wake. */
export interface Signals {
  publish(hint: Hint): void;
  /** The returned function ends it. */
  subscribe(listener: (hint: Hint) => void): () => void;
}
