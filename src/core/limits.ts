/** Limits of the core in bytes, counts and milliseconds. Each has a row in docs/reference/limits.md. */
export interface CoreLimits {
  /** Size of one event of an agent. Default: 4 MiB. */
  readonly eventMaxBytes: number;
  /** Size of one task. Default: 32 MiB. */
  readonly taskMaxBytes: number;
  /**
   * How much of a running task's log is kept behind its snapshot, for readers who come back; at least ten minutes of
   * it. Default: 16 MiB.
   */
  readonly logWindowBytes: number;
  /** Size of the tasks on one page of ListTasks, which has at least one task. Default: 8 MiB. */
  readonly pageMaxBytes: number;
  /** Messages in the history of a task. Default: 1,000. */
  readonly historyMaxMessages: number;
  /** Concurrent turns of one owner. Default: 1,000. */
  readonly turnsPerOwner: number;
  /** Concurrent turns of the process. Default: 20,000. */
  readonly turnsPerProcess: number;
  /** GetTask and ListTasks of one owner that read the store at once; others wait. Default: 4. */
  readonly readsPerOwner: number;
  /** Unfinished tasks of one owner. Default: 10,000. */
  readonly tasksPerOwner: number;
  /**
   * How long a task may wait for its caller, or parked without a time, before it ends FAILED. Default: 30 days.
   */
  readonly taskWaitMaxMs: number;
  /** How long a send waits for another turn to end when a limit of turns is reached. Default: 1 s. */
  readonly turnWaitMs: number;
  /** Size of the messages that wait so, of which one owner's take half of what those of others leave. Default: 64 MiB. */
  readonly turnWaitMaxBytes: number;
  /** How many events and bytes a turn may be ahead of the store. Defaults: 64 and 256 KiB. */
  readonly batchMaxEvents: number;
  readonly batchMaxBytes: number;
  /** Messages in the inbox of one task. Default: 16. */
  readonly inboxMaxMessages: number;
  /** How long a `returnImmediately` send to a busy task waits until its message is taken. Default: 10 s. */
  readonly inboxWaitMs: number;
  /** How long an agent may take to its first event before its caller gets a task. Default: 1 s. */
  readonly taskAfterMs: number;
  /** How long an agent has to unwind after an abort. Default: 5 s. */
  readonly graceMs: number;
  /** How long a turn retries a failing store. Default: 30 s. */
  readonly storeRetryMs: number;
  /** How long a send waits for its first write, and for every other call of the store before it. Default: 2 s. */
  readonly storeWaitMs: number;
  /** How long the store may be away before readiness checks say so. Default: 10 s. */
  readonly storeAwayMs: number;
  /** Time limit of one turn. Default: none. */
  readonly turnDeadlineMs: number | undefined;
  /** Renewal interval and lifetime of this process's lease. Defaults: 3 s and 15 s. */
  readonly heartbeatMs: number;
  readonly instanceTtlMs: number;
  /** How often the store is polled, which makes up for lost hints. Default: 1 s. */
  readonly pollMs: number;
  /**
   * Largest message that is kept as the recorded reply of an idempotent send; a larger one becomes a task. Default: 256
   * KiB.
   */
  readonly keptReplyMaxBytes: number;
  /** Least time between two timed wakes of a parked task. Default: 1 s. */
  readonly wakePauseMs: number;
  /** Push configurations of one task. Default: 10. */
  readonly pushConfigsPerTask: number;
  /** Largest message or artifact that is copied into a conversation; a larger one is read from its task. Default: 64 KiB. */
  readonly conversationEntryMaxBytes: number;
  /** Entries of all conversations of one owner; the least recent conversations are dropped. Default: 100,000. */
  readonly conversationEntriesPerOwner: number;
  /** Size of all conversations and states of contexts of one owner; the same. Default: 128 MiB. */
  readonly conversationOwnerMaxBytes: number;
  /** Size of the state of one context, keys and values as JSON. Default: 64 KiB. */
  readonly contextStateMaxBytes: number;
}

/** The defaults of `CoreLimits`. */
export const defaultCoreLimits: CoreLimits = {
  eventMaxBytes: 4 << 20,
  taskMaxBytes: 32 << 20,
  logWindowBytes: 16 << 20,
  pageMaxBytes: 8 << 20,
  historyMaxMessages: 1000,
  turnsPerOwner: 1000,
  turnsPerProcess: 20_000,
  readsPerOwner: 4,
  tasksPerOwner: 10_000,
  taskWaitMaxMs: 30 * 24 * 3_600_000,
  turnWaitMs: 1000,
  turnWaitMaxBytes: 64 << 20,
  batchMaxEvents: 64,
  batchMaxBytes: 256 << 10,
  inboxMaxMessages: 16,
  inboxWaitMs: 10_000,
  taskAfterMs: 1000,
  graceMs: 5000,
  storeRetryMs: 30_000,
  storeWaitMs: 2000,
  storeAwayMs: 10_000,
  turnDeadlineMs: undefined,
  heartbeatMs: 3000,
  instanceTtlMs: 15_000,
  pollMs: 1000,
  keptReplyMaxBytes: 256 << 10,
  wakePauseMs: 1000,
  pushConfigsPerTask: 10,
  conversationEntryMaxBytes: 64 << 10,
  conversationEntriesPerOwner: 100_000,
  conversationOwnerMaxBytes: 128 << 20,
  contextStateMaxBytes: 64 << 10,
};
