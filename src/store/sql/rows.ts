import type {
  Append,
  AppendResult,
  ConversationQuery,
  ConversationRecord,
  ConversationWrite,
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
  WrittenStatus,
} from "../../core/ports.js";
import type { Scope } from "../../protocol/context.js";
import { TaskState } from "../../protocol/model.js";
import type { StoreFlush } from "../../protocol/telemetry/follow.js";
import type { ReportMigration } from "./migration-report.js";

// Queries and answers of a database as plain objects with payloads as bytes, so that they can be sent to another
// thread. Messages are encoded and decoded in one place, before this seam (payload.ts).

/** The format of a payload. A stored row names its own. */
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

/** The last status of a write. */
export interface StatusRow {
  readonly state: WrittenStatus["state"];
  readonly time: number;
  /** Absent when it is too large for a head. */
  readonly summary?: Uint8Array | undefined;
}

/** An entry of a conversation. `kind`: 0 is a message of the caller, 1 one of the agent, 2 an artifact. */
interface ConversationRow extends Omit<ConversationRecord, "kind" | "content"> {
  readonly kind: number;
  /** Absent for an entry that its task has. */
  readonly payload: Payload | undefined;
}

export interface StoredConversationRow extends ConversationRow {
  readonly number: number;
}

export interface ConversationWriteRow extends Omit<ConversationWrite, "entries"> {
  readonly entries: readonly ConversationRow[];
}

interface WriteRowBody {
  /** Absent for a write without records. */
  readonly log: LogRow | undefined;
  readonly status: StatusRow | undefined;
  readonly snapshot: SnapshotRow | undefined;
  readonly end: { readonly inboxPut: number; readonly park?: Park | undefined } | undefined;
  readonly takes: readonly string[];
  /** Number of the record that starts a turn; 0 if none does. */
  readonly turnSeq: number;
  readonly conversation?: ConversationWriteRow | undefined;
}

export interface NewTaskRow
  extends WriteRowBody,
    Pick<NewTask, "id" | "contextId" | "scope" | "holder" | "version" | "name"> {
  readonly status: StatusRow;
}

export interface AppendRow extends WriteRowBody, Pick<Append, "key" | "epoch" | "seq" | "claim"> {}

export interface StoredTaskRow {
  readonly head: Head;
  readonly snapshot: SnapshotRow | undefined;
  /** Instead of a snapshot and a log, in a list that asks for summaries. */
  readonly summary?: Uint8Array | undefined;
  /** The rows after the snapshot, or the whole log; the first row may start before that. */
  readonly log: readonly LogRow[];
}

export interface InboxRow extends Omit<InboxEntry, "send" | "wake">, Payload {}

export interface SendOutcomeRow extends Payload {
  readonly kind: SentOutcome["kind"];
}

export interface SendRecordRow extends Omit<SendRecord, "outcome"> {
  readonly outcome: SendOutcomeRow | undefined;
}

/** Holder of settled configurations, so that a sweep for pending deliveries skips them: no instance has this name. */
export const settledHolder = "-";

/** A push configuration; its payload includes the credentials. */
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

/** Store calls whose arguments or answers contain payloads. */
interface TaskRowMethods {
  create(task: NewTaskRow): Promise<Head>;
  append(write: AppendRow): Promise<AppendResult>;
  read(scope: Scope, id: string): Promise<StoredTaskRow | undefined>;
  /** Rows with the records after `after`, enough for `limit` records; the first row may start before that. */
  recordsAfter(
    key: number,
    after: number,
    limit: number,
  ): Promise<{ readonly head: Head; readonly log: readonly LogRow[] } | "compacted" | undefined>;
  /** Rows with these records, which may hold others too. */
  recordsAt(key: number, seqs: readonly number[]): Promise<readonly LogRow[]>;
  list(
    scope: Scope,
    query: ListQuery,
  ): Promise<{ readonly tasks: readonly StoredTaskRow[]; readonly total: number; readonly more: boolean }>;
  put(key: number, entry: InboxRow, maxMessages: number, fence?: PutFence): Promise<PutResult>;
  inbox(key: number): Promise<{ readonly entries: readonly InboxRow[]; readonly inboxPut: number }>;
  beginSend(send: NewSend): Promise<SendRecordRow>;
  readSend(scope: Scope, messageId: string): Promise<SendRecordRow | undefined>;
  settleSend(claim: SendClaim, outcome: SendOutcomeRow): Promise<boolean>;
  addToConversations(writes: readonly ConversationWriteRow[]): Promise<void>;
  readConversation(
    scope: Scope,
    contextId: string,
    query: ConversationQuery,
  ): Promise<readonly StoredConversationRow[]>;
}

interface PushRowMethods {
  set(row: PushRow, max: number): Promise<"stored" | "full">;
  get(key: number, id: string): Promise<PushRow | undefined>;
  list(key: number): Promise<readonly PushRow[]>;
  adopt(agent: string, instance: string, limit: number): Promise<readonly PushRow[]>;
}

/** Store calls that a database takes and answers as they are. */
export type PlainTaskMethods = Omit<TaskStore, keyof TaskRowMethods | "close">;
export type PlainPushMethods = Omit<PushStore, keyof PushRowMethods | "close">;

export interface TaskBackend extends PlainTaskMethods, TaskRowMethods {}
export interface PushBackend extends PlainPushMethods, PushRowMethods {}

/** One database, from which the two stores are built. Each write is a transaction, alone or with concurrent ones. */
export interface Backend extends TaskBackend {
  readonly push: PushBackend;
  /**
   * Migrates the tables and checks that they can be written. Rejects with a readable message when they cannot be used.
   * `report`: receives the progress of a migration.
   */
  open(report?: ReportMigration): Promise<void>;
  /** Drops what is past its retention, at most `limit` rows of each kind; true when there is more. */
  prune(retention: Retention, limit: number): Promise<PruneBatch>;
  /** Calls `listener` after each commit of writes that share it. */
  onFlush?(listener: (flush: StoreFlush) => void): () => void;
  close(): Promise<void>;
}

/** Counts of the rows that one batch dropped. */
export interface PruneBatch {
  readonly tasks: number;
  /** Rows of logs. */
  readonly logs: number;
  /** Entries of conversations. */
  readonly entries: number;
  readonly more: boolean;
}

/** How long finished tasks, logs and sends are kept. */
export interface Retention {
  /** How long a finished task is kept, in milliseconds; `undefined`: for ever. */
  readonly tasksMs: number | undefined;
  /** How many finished tasks are kept, newest first; `undefined`: all. */
  readonly tasksMax: number | undefined;
  /** How long the log of a finished task is kept, so that late subscribers get every event. */
  readonly logsMs: number | undefined;
  /** How long an idempotent send is remembered. */
  readonly sendsMs: number;
}

/** The states of tasks that have ended. */
export const terminalStates = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED] as const;

/** The scope of a row. */
export function pickScope({ agent, tenant, owner }: Scope): Scope {
  return { agent, tenant, owner };
}
