import type {
  Append,
  AppendResult,
  Head,
  InboxEntry,
  ListQuery,
  NewSend,
  NewTask,
  Park,
  PushStore,
  PutFence,
  PutResult,
  SendClaim,
  SendRecord,
  SentOutcome,
  TaskStore,
} from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import type { ReportMigration } from "./migration-report.js";

// What a database is asked, and what it answers, in plain objects with payloads as bytes: they go to another thread as
// they are. Messages become bytes and back in one place, before this seam (payload.ts).

/** Which form a payload is in. A row that is read names its own. */
export interface Payload {
  readonly format: number;
  readonly bytes: Uint8Array;
}

/** The records of one write: one row of the log. */
export interface LogRow extends Payload {
  /** Number of the last record. */
  readonly seq: number;
  readonly count: number;
}

export interface SnapshotRow extends Payload {
  readonly seq: number;
}

interface WriteRowBody {
  /** Left out for a write without records. */
  readonly log: LogRow | undefined;
  readonly status: NewTask["status"] | undefined;
  readonly snapshot: SnapshotRow | undefined;
  readonly end: { readonly inboxPut: number; readonly park?: Park | undefined } | undefined;
  readonly takes: readonly string[];
  /** Number of the record that starts a turn; 0 when none does. */
  readonly turnSeq: number;
}

export interface NewTaskRow
  extends WriteRowBody,
    Pick<NewTask, "id" | "contextId" | "scope" | "holder" | "version" | "name"> {
  readonly status: NewTask["status"];
}

export interface AppendRow extends WriteRowBody, Pick<Append, "key" | "epoch" | "seq" | "claim"> {}

export interface StoredTaskRow {
  readonly head: Head;
  readonly snapshot: SnapshotRow | undefined;
  /** Rows that hold what follows the snapshot, or the whole log; the first may begin before that. */
  readonly log: readonly LogRow[];
}

export interface InboxRow extends Omit<InboxEntry, "send" | "wake">, Payload {}

export interface SendOutcomeRow extends Payload {
  readonly kind: SentOutcome["kind"];
}

export interface SendRecordRow extends Omit<SendRecord, "outcome"> {
  readonly outcome: SendOutcomeRow | undefined;
}

/** Stands for the holder of what is settled, so that no look for what is left to deliver comes by: no instance has this name. */
export const settledHolder = "-";

/** A push configuration; its payload is the configuration with its credentials. */
export interface PushRow extends Payload {
  readonly key: number;
  readonly id: string;
  readonly taskId: string;
  readonly scope: Scope;
  readonly cursor: number;
  readonly version: string;
  readonly taskName: string | undefined;
  readonly holder: string;
}

/** Calls of the store whose arguments or answers hold payloads. */
interface TaskRowCalls {
  create(task: NewTaskRow): Promise<Head>;
  append(write: AppendRow): Promise<AppendResult>;
  read(scope: Scope, id: string): Promise<StoredTaskRow | undefined>;
  /** Rows that hold the records after `after`, as many as hold `limit` of them; the first may begin before that. */
  recordsAfter(
    key: number,
    after: number,
    limit: number,
  ): Promise<{ readonly head: Head; readonly log: readonly LogRow[] } | "compacted" | undefined>;
  list(
    scope: Scope,
    query: ListQuery,
  ): Promise<{ readonly tasks: readonly StoredTaskRow[]; readonly total: number; readonly more: boolean }>;
  put(key: number, entry: InboxRow, maxMessages: number, fence?: PutFence): Promise<PutResult>;
  inbox(key: number): Promise<{ readonly entries: readonly InboxRow[]; readonly inboxPut: number }>;
  beginSend(send: NewSend): Promise<SendRecordRow>;
  readSend(scope: Scope, messageId: string): Promise<SendRecordRow | undefined>;
  settleSend(claim: SendClaim, outcome: SendOutcomeRow): Promise<boolean>;
}

interface PushRowCalls {
  set(row: PushRow, max: number): Promise<"stored" | "full">;
  get(key: number, id: string): Promise<PushRow | undefined>;
  list(key: number): Promise<readonly PushRow[]>;
  adopt(agent: string, instance: string, limit: number): Promise<readonly PushRow[]>;
}

/** Calls of the store that a database takes and answers as they are. */
export type PlainTaskCalls = Omit<TaskStore, keyof TaskRowCalls | "close">;
export type PlainPushCalls = Omit<PushStore, keyof PushRowCalls | "close">;

export interface TaskBackend extends PlainTaskCalls, TaskRowCalls {}
export interface PushBackend extends PlainPushCalls, PushRowCalls {}

/** One database: what the two stores are made of. Each write is a transaction, alone or with others of the moment. */
export interface Backend extends TaskBackend {
  readonly push: PushBackend;
  /**
   * Brings the tables up to date and looks that they can be written. Rejects with a sentence when they cannot be used.
   * `report`: told how far a migration is.
   */
  open(report?: ReportMigration): Promise<void>;
  /** Drops what its retention has come for, at most `limit` rows of each kind; true when there is more. */
  prune(
    retention: Retention,
    limit: number,
  ): Promise<{ readonly tasks: number; readonly logs: number; readonly more: boolean }>;
  close(): Promise<void>;
}

/** How long what is finished is kept. */
export interface Retention {
  /** How long a finished task stays, in milliseconds; `undefined`: for ever. */
  readonly tasksMs: number | undefined;
  /** How many finished tasks stay, the newest; `undefined`: all. */
  readonly tasksMax: number | undefined;
  /** How long the log of a finished task stays, so that late subscribers get each event. */
  readonly logsMs: number | undefined;
  /** How long a send that is done once is remembered. */
  readonly sendsMs: number;
}
