import type { Generated } from "kysely";

// The tables in Kysely's types. Numbers are 64-bit integers in the database and plain numbers here: keys and times stay
// far below 2^53. Table names have a prefix, so that they can share a database.
//
// A task is its head, a snapshot, and one log row for each write. Lists walk an index of heads. A head has a summary of
// its task, up to 1 KiB, written with each status: so ListTasks without artifacts and history reads neither snapshots
// nor logs. Counters by state and period give totals (`periods.ts`), in shards so that processes do not wait for each
// other.

/** One row per task: its head. Large values are in other tables, so that updating a head is cheap. */
export interface TasksTable {
  /** The store's own number; ascends with creation. */
  key: Generated<number>;
  id: string;
  /** The agent that the task belongs to; empty unless there are several. */
  agent: string;
  tenant: string;
  owner: string;
  context_id: string;
  /** The caller's name for the task; unique in agent, tenant and owner. */
  name: string | null;
  incarnation: string;
  version: string;
  seq: number;
  epoch: number;
  /** Instance whose turn runs it; empty without a turn. */
  holder: string;
  state: number;
  status_time: number;
  inbox_put: number;
  turn: number;
  turn_seq: number;
  /** When a parked task is due. */
  wake_at: number | null;
  /** Number of the last record whose row was dropped; 0 while the log is whole. */
  compacted: number;
  /** Status and metadata behind the last status, unless they are large: a payload of the current format. */
  summary: Uint8Array | null;
  /** The `status_time` that `summary` belongs to: releases before schema 4 change the status alone. */
  summary_time: number | null;
  /** When it had ended and was released; retention counts from here. */
  finished_at: number | null;
  /** The same until its log is dropped; set together with `finished_at`. */
  logged_at: number | null;
}

/** The fold of a task up to `seq`, for tasks that have a snapshot. @public: declarations of queries name it. */
export interface SnapshotsTable {
  key: number;
  seq: number;
  format: number;
  payload: Uint8Array;
}

/** The records of one write. `seq`: number of the last one. */
interface LogTable {
  key: number;
  seq: number;
  count: number;
  format: number;
  payload: Uint8Array;
}

interface InboxTable {
  key: number;
  /** Order within the task; cancels are read first regardless. */
  ordinal: number;
  id: string;
  kind: "message" | "cancel" | "wake";
  format: number;
  payload: Uint8Array;
}

/** Processes that run turns. @public: declarations of queries name it. */
export interface InstancesTable {
  name: string;
  expires_at: number;
  /** How long before `expires_at` it was renewed; `null` for instances of earlier releases. */
  ttl_ms: number | null;
}

/**
 * The use of callers' limits: one row for each hash of a caller and a limit. The last four columns are the draw of the
 * statement that wrote the row.
 */
interface RatesTable {
  key: string;
  /** Number of the window that `used` is about. */
  period: number;
  /** Its length in milliseconds. */
  width: number;
  used: number;
  /** When the window ends. */
  expires_at: number;
  ceiling: number;
  need: number;
  forced: number;
  granted: number;
}

/** Idempotent sends. */
export interface SendsTable {
  agent: string;
  tenant: string;
  owner: string;
  message_id: string;
  entry: string;
  attempt: number;
  digest: string;
  task_id: string;
  seq: number;
  instance: string;
  began_at: number;
  outcome: "task" | "reply" | "error" | null;
  format: number;
  payload: Uint8Array | null;
}

export interface PushConfigsTable {
  key: number;
  id: string;
  /** Order within the task. */
  ordinal: number;
  task_id: string;
  agent: string;
  tenant: string;
  owner: string;
  version: string;
  task_name: string | null;
  cursor: number;
  /** Instance that delivers; empty if none does. */
  holder: string;
  format: number;
  payload: Uint8Array;
}

/**
 * The number of an owner's tasks by state: the sum over the shards, each of which may be negative. Concurrent processes
 * use different shards, so that they rarely wait for each other.
 */
interface CountsTable {
  agent: string;
  tenant: string;
  owner: string;
  state: number;
  shard: string;
  count: number;
}

/**
 * The same by time: `period` is that of the task's status time. The number is the sum over the shards; those of a
 * period that ended long ago are folded into the shard with the empty name.
 */
export interface PeriodsTable extends CountsTable {
  period: number;
}

/**
 * One row per context that has entries or a state. @public: declarations of queries name it.
 */
export interface ContextsTable {
  /** The store's own number. */
  key: Generated<number>;
  agent: string;
  tenant: string;
  owner: string;
  context_id: string;
  /** Number of the last entry; 0 without one. */
  last: number;
  /** Entries up to this number are deleted. */
  dropped: number;
  /** Entries up to this number are no longer shown, and deleted later. */
  hidden: number;
  /** Size of the entries. */
  bytes: number;
  /** Size of the state. */
  value_bytes: number;
  /** How many of the latest entries are shown; the others are deleted later. */
  max_entries: number;
  used_at: number;
  /**
   * 0 once it is dropped. Not indexed, since it changes with every entry: retention reads the table in the order of its
   * keys.
   */
  expires_at: number | null;
}

/** The entries of conversations. @public: declarations of queries name it. */
export interface ConversationsTable {
  /** Key of the context. */
  context: number;
  number: number;
  /** 0: message of the caller, 1: message of the agent, 2: artifact. */
  kind: number;
  at: number;
  task_id: string;
  item_id: string;
  bytes: number;
  format: number;
  /** Null for an entry that its task has. */
  payload: Uint8Array | null;
}

/** The states of contexts. @public: declarations of queries name it. */
export interface ContextValuesTable {
  /** Key of the context. */
  context: number;
  name: string;
  version: string;
  bytes: number;
  json: string;
}

/** The migrations applied to the tables. */
interface SchemaTable {
  version: number;
  applied_at: number;
}

export interface Database {
  trivium_tasks: TasksTable;
  trivium_snapshots: SnapshotsTable;
  trivium_log: LogTable;
  trivium_inbox: InboxTable;
  trivium_instances: InstancesTable;
  trivium_sends: SendsTable;
  trivium_push_configs: PushConfigsTable;
  trivium_counts: CountsTable;
  trivium_periods: PeriodsTable;
  trivium_contexts: ContextsTable;
  trivium_conversations: ConversationsTable;
  trivium_context_values: ContextValuesTable;
  trivium_rates: RatesTable;
  trivium_schema: SchemaTable;
}
