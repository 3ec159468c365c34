import type { JsonValue } from "@bufbuild/protobuf";
import type { Scope } from "../../protocol/context.js";
import type { ErrorCode, FieldViolation } from "../../protocol/errors.js";
import type { Message, StreamResponse, Task, TaskState } from "../../protocol/model.js";
import type { TraceContext } from "../../protocol/telemetry/trace.js";
import type { ConversationWrite } from "./conversations.js";
import type { SendContext } from "./inbox.js";
import type { PortMethods } from "./methods.js";

// Tasks as logs: the writes and reads of one task.

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
      /** The send's context; absent if it has none. */
      readonly context?: SendContext | undefined;
    }
  | {
      readonly kind: "turnStarted";
      readonly seq: number;
      readonly turn: number;
      readonly attempt: number;
      readonly cause: TurnCause;
      /** Data of the wake that started the turn, or that started the turn it re-runs. */
      readonly wake?: JsonValue | undefined;
      /** Number of the record with the turn's message. Default: the next one. */
      readonly message?: number | undefined;
      /** The place in its trace of the wake that started the turn. Default: that of the message's send. */
      readonly trace?: TraceContext | undefined;
    }
  /** `error` is the answer of the send that started the turn. */
  | {
      readonly kind: "turnEnded";
      readonly seq: number;
      readonly error?: RecordedError | undefined;
    }
  /** The turn is left to another process, which re-runs it. This does not count as a failure. */
  | { readonly kind: "turnReleased"; readonly seq: number }
  /** The turn ended and will continue later; its sends still wait. Without this record the write would be empty. */
  | { readonly kind: "turnParked"; readonly seq: number };

/** An `A2AError` as stored in a log: everything its caller may see. */
export interface RecordedError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly violations: readonly FieldViolation[];
  /** Reason and domain, if they are the agent's own. */
  readonly reason?: string | undefined;
  readonly domain?: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
}

/** The state of a task that a store knows without reading its content. */
export interface Head {
  /** The store's own number for the task; ascends with creation. Calls by key follow a scoped `read`. */
  readonly key: number;
  /** The task's id. */
  readonly id: string;
  /** The context's id. */
  readonly contextId: string;
  /** Whose task it is. */
  readonly scope: Scope;
  /** Changes when a log is restored or reset, so that old event ids are recognized. */
  readonly incarnation: string;
  /** Number of the last record. */
  readonly seq: number;
  /** Incremented by each claim. */
  readonly epoch: number;
  /** Instance whose turn runs the task; `""` if none does. */
  readonly holder: string;
  /** Whether the holder's lease was valid at the time of the read, by the store's clock. False without a holder. */
  readonly holderLive: boolean;
  /** The state of the latest status. */
  readonly state: TaskState;
  /** Milliseconds since the epoch; never decreases. */
  readonly statusTime: number;
  /** Number of entries ever put into the task's inbox. */
  readonly inboxPut: number;
  /** Ordinal of the last turn started. */
  readonly turn: number;
  /** Number of the record that started it; 0 before the first. */
  readonly turnSeq: number;
  /** When a parked task is due, in milliseconds since the epoch; `undefined` without a time. */
  readonly wakeAt: number | undefined;
  /** Protocol version that created the task. */
  readonly version: string;
}

/** A task at a position: `task` with `records` applied is the whole task up to `head.seq`. */
export interface StoredTask {
  readonly head: Head;
  /** The fold up to `seq`; `undefined` when `records` is the whole log. Must not be modified. */
  readonly snapshot: { readonly seq: number; readonly task: Task } | undefined;
  readonly records: readonly LogRecord[];
}

/** The part that all writes of a log share. */
export interface WriteBody {
  /** Numbered from the fence's `seq + 1` (from 1 for a new task), without gaps. */
  readonly records: readonly LogRecord[];
  /** Approximate size of the records in bytes. */
  readonly bytes: number;
  /** Set when a record of this write is a status. */
  readonly status?: WrittenStatus | undefined;
  /** The fold up to the last record, present when the log has outgrown the last snapshot. Not modified afterwards. */
  readonly snapshot?: { readonly task: Task; readonly bytes: number } | undefined;
  /**
   * Ends the turn by clearing the holder. Unless the state is terminal, the write is refused with `inboxMoved` when the
   * head's `inboxPut` differs. With a terminal state the same write drops the whole inbox.
   */
  readonly end?: { readonly inboxPut: number; readonly park?: Park | undefined } | undefined;
  /** Ids of inbox entries that this write removes. If one of them no longer waits, the result is `inboxMoved`. */
  readonly takes?: readonly string[] | undefined;
  /** Entries for the conversation of the task's context, added by the same write or not at all. */
  readonly conversation?: ConversationWrite | undefined;
}

/** The last status of a write. */
export interface WrittenStatus {
  readonly state: TaskState;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** The task with this status, without artifacts and history, for lists that need no more. A store may ignore it. */
  readonly summary?: Task | undefined;
}

/** The end of a turn that will continue later. */
export interface Park {
  /** When it is due, in milliseconds since the epoch by the store's clock; `undefined`: only when woken. */
  readonly wakeAt: number | undefined;
}

/** The first write of a task. It starts at epoch 1, held by `holder` (or by none if the write ends the turn). */
export interface NewTask extends WriteBody {
  readonly id: string;
  readonly contextId: string;
  readonly scope: Scope;
  readonly holder: string;
  readonly version: string;
  /** Name chosen by the caller, in versions where callers choose one; unique in the scope. */
  readonly name?: string | undefined;
  readonly status: WrittenStatus;
}

/** A write to an existing task. It applies only if the head still has this `epoch` and `seq`. */
export interface Append extends WriteBody {
  readonly key: number;
  readonly epoch: number;
  readonly seq: number;
  /** Starts a turn: increments the epoch, sets the holder and the turn's ordinal. */
  readonly claim?: { readonly holder: string; readonly turn: number } | undefined;
}

/** `fenced`: the epoch or number did not match and nothing was written. */
export type AppendResult = "stored" | "fenced" | "inboxMoved";

/** The tasks of a page: filters combine; newest status first, then the higher key. */
export interface ListQuery {
  readonly contextId?: string | undefined;
  readonly state?: TaskState | undefined;
  /** Milliseconds since the epoch, inclusive. May be fractional; status times are whole. */
  readonly since?: number | undefined;
  readonly limit: number;
  /**
   * Size of a page's snapshots in bytes. A page ends before it would exceed this, but has at least one task. Default:
   * no limit.
   */
  readonly maxBytes?: number | undefined;
  /**
   * Whether summaries suffice: then a task may come as a snapshot at its head's `seq` that has its status and metadata,
   * but neither artifacts nor history. Default: false.
   */
  readonly summaries?: boolean | undefined;
  /** The last task of the previous page. If it is gone since, `key` is the highest safe integer. */
  readonly after?: { readonly statusTime: number; readonly key: number } | undefined;
}

export interface ListPage {
  readonly tasks: readonly StoredTask[];
  /** Number of matching tasks before paging. */
  readonly total: number;
  /** True when tasks follow the last one of this page. */
  readonly more: boolean;
}

/** The logs of tasks. */
export interface TaskLog {
  /**
   * Creates a task. Rejects when its id exists or another task of the scope has its name. Rejects with `invalidParams`
   * when its agent, owner, tenant, ids or name exceed the lengths in `protocol/indexed-text.ts`.
   */
  create(task: NewTask): Promise<Head>;
  /** The id of the task with this name in the scope. The name is removed with its task. */
  taskNamed(scope: Scope, name: string): Promise<string | undefined>;
  /** Appends under the fence. The store may commit concurrent writes as a group. */
  append(write: Append): Promise<AppendResult>;
  /** One consistent read; `undefined` when the task is missing or not in the scope. */
  read(scope: Scope, id: string): Promise<StoredTask | undefined>;
  /** Only the head. */
  head(scope: Scope, id: string): Promise<Head | undefined>;
  /**
   * Records with `seq > after`, oldest first, at most `limit` and fewer when they are large, but at least one if there
   * is one; with the head at the same moment. `compacted`: the log
   * no longer reaches back to `after`.
   */
  recordsAfter(
    key: number,
    after: number,
    limit: number,
  ): Promise<{ readonly head: Head; readonly records: readonly LogRecord[] } | "compacted" | undefined>;
  /** The records with these numbers that are still there, in any order. */
  recordsAt(key: number, seqs: readonly number[]): Promise<readonly LogRecord[]>;
  /**
   * Drops the records up to `upTo`, the number of an earlier snapshot, except those numbered in `keep`, which may bring
   * others of their writes with them. From then on the log reaches back to `upTo`.
   */
  compact(key: number, upTo: number, keep: readonly number[]): Promise<void>;
  /** Heads of the tasks that still exist, in any order. */
  heads(keys: readonly number[]): Promise<readonly Head[]>;
  /** A page of the tasks of an owner, by the time of their status. */
  list(scope: Scope, query: ListQuery): Promise<ListPage>;
  /** The number of tasks in the scope that have not ended. */
  unfinished(scope: Scope): Promise<number>;
}

export const logCalls = {
  create: "turn",
  taskNamed: "read",
  append: "turn",
  read: "read",
  head: "read",
  recordsAfter: "read",
  recordsAt: "read",
  // Follows a write of a turn; nobody waits for it.
  compact: "turn",
  heads: "read",
  list: "read",
  unfinished: "read",
} as const satisfies PortMethods<TaskLog>;
