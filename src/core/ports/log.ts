import type { JsonValue } from "@bufbuild/protobuf";
import type { Scope } from "../../protocol/context.js";
import type { ErrorCode, FieldViolation } from "../../protocol/errors.js";
import type { Message, StreamResponse, Task, TaskState } from "../../protocol/model.js";
import type { PortCalls } from "./calls.js";
import type { SendContext } from "./inbox.js";

// Tasks as logs: what is written of one, and what is read.

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

/** The logs of tasks. */
export interface TaskLog {
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
}

export const logCalls = {
  create: "turn",
  taskNamed: "read",
  append: "turn",
  read: "read",
  head: "read",
  recordsAfter: "read",
  heads: "read",
  list: "read",
} as const satisfies PortCalls<TaskLog>;
