import { withDefaults } from "../protocol/defaults.js";
import { shareOfHeap } from "../protocol/heap-size.js";

/** Limits of tasks, turns and conversations that a server can be given. */
export interface TaskLimits {
  /** Size of one event of an agent. Default: 4 MiB. */
  readonly eventMaxBytes: number;
  /** Size of one task. Default: 32 MiB. */
  readonly taskMaxBytes: number;
  /**
   * Size of a running task's log that is kept from before its latest snapshot, so that streams can resume. For ten
   * minutes, up to four times as much is kept. Default: 16 MiB.
   */
  readonly logWindowBytes: number;
  /**
   * Size of the tasks on one page of ListTasks; a page has at least one task, and `nextPageToken` leads to the next.
   * Default: 8 MiB.
   */
  readonly pageMaxBytes: number;
  /** Messages in the history of a task. Default: 1,000. */
  readonly historyMaxMessages: number;
  /** Concurrent turns of one owner. Without `auth` or `authenticate` only the process limit applies. Default: 1,000. */
  readonly turnsPerOwner: number;
  /** Concurrent turns of the process. Default: 20,000. */
  readonly turnsPerProcess: number;
  /**
   * Unfinished tasks of one owner; above it, sends that would start another are refused. Not applied without
   * authentication. Default: 10,000.
   */
  readonly tasksPerOwner: number;
  /**
   * How long a task without a turn may wait for its caller, or be parked without a `wakeAt`, after its last status;
   * then it ends FAILED. For a turn that waits in `ask`, `turnDeadlineMs` applies instead. Default: 30 days.
   */
  readonly taskWaitMaxMs: number;
  /** How long a send waits for a free turn when a limit of turns is reached; then it is refused. Default: 1 s. */
  readonly turnWaitMs: number;
  /**
   * Size of the messages that wait for a free turn; those of one owner take at most half of what the others leave.
   * Default: 64 MiB.
   */
  readonly turnWaitMaxBytes: number;
  /**
   * Memory of running tasks: their current size, with records that are not stored yet. The tasks of one owner, at all
   * agents, take at most half of what others leave. Above that, the owner's turns wait when they emit, and the process
   * continues one turn at a time. With the memory store, at most a quarter of its `maxBytes` is used. The default is at
   * most a sixth of the heap. Default: 512 MiB.
   */
  readonly runningMaxBytes: number;
  /**
   * How long turns of an owner wait for memory while none of its turns ends. Then its largest turns are aborted. Their tasks
   * end FAILED; tasks that wait for their callers stay, without a running turn. Default: 30 s.
   */
  readonly runningWaitMs: number;
  /** Messages that wait for the turn of one task. Default: 16. */
  readonly inboxMaxMessages: number;
  /** How long a `returnImmediately` send to a busy task waits until its message is taken. Default: 10 s. */
  readonly inboxWaitMs: number;
  /** How long an agent may take for its first event before a task is created for the caller. Default: 1 s. */
  readonly taskAfterMs: number;
  /** How long an agent has to unwind after an abort. Default: 5 s. */
  readonly graceMs: number;
  /** How long a running turn, and the webhook that came with its message, wait for a failing store. Default: 30 s. */
  readonly storeRetryMs: number;
  /**
   * How long a caller waits for each call of the store; then its call is `unavailable`. A send also waits this long for the
   * first write of its turn. Later writes of the turn have `storeRetryMs`. Default: 2 s.
   */
  readonly storeWaitMs: number;
  /**
   * How long the store may be unreachable, or too slow for sends, before `/readyz` and gRPC health checks report it.
   * Default: 10 s.
   */
  readonly storeOutageMs: number;
  /** Length of a chain of calls between agents of one server (`turn.client`). Default: 8. */
  readonly agentCallDepth: number;
  /** Time limit of one turn. Default: none. */
  readonly turnDeadlineMs: number | undefined;
  /** How often this process renews the lease on its tasks. Default: 3 s. */
  readonly heartbeatMs: number;
  /** Lifetime of a process's lease that is not renewed. Default: 15 s. */
  readonly instanceTtlMs: number;
  /** Interval for polling the store, in case hints are lost. Default: 1 s. */
  readonly pollMs: number;
  /** Shortest time between two wakes of a parked task by its `wakeAt`. Default: 1 s. */
  readonly minWakeIntervalMs: number;
  /** Push configurations of one task. Default: 10. */
  readonly pushConfigsPerTask: number;
  /**
   * Entries of all conversations of one owner; above it, the least recently used are dropped. Not applied without
   * authentication. Default: 100,000.
   */
  readonly conversationEntriesPerOwner: number;
  /**
   * Size of all conversations and context states of one owner; above it, the least recently used are dropped. Not
   * applied without authentication. Default: 128 MiB.
   */
  readonly conversationOwnerMaxBytes: number;
  /** Size of the state of one context, as JSON; above it, `turn.context.update` rejects. Default: 64 KiB. */
  readonly contextStateMaxBytes: number;
}

/** Limits that no option changes; tests make them small. */
export interface FixedLimits {
  /**
   * Concurrent reads of the store by one owner: GetTask, ListTasks and first events of subscriptions. More are queued, also
   * while the owner reads more than its share of `runningMaxBytes`. Ignored without authentication.
   */
  readonly readsPerOwner: number;
  /** Events that a turn may be ahead of the store. */
  readonly batchMaxEvents: number;
  /** Size of the events that a turn may be ahead of the store. */
  readonly batchMaxBytes: number;
  /** Largest direct reply that is kept for repeats of an idempotent send; a larger one becomes a task. */
  readonly keptReplyMaxBytes: number;
  /** Largest message or artifact that is copied into a conversation; a larger one is read from its task. */
  readonly conversationEntryMaxBytes: number;
}

export interface CoreLimits extends TaskLimits, FixedLimits {}

/** The defaults of `TaskLimits`. */
export const defaultTaskLimits: TaskLimits = {
  eventMaxBytes: 4 << 20,
  taskMaxBytes: 32 << 20,
  logWindowBytes: 16 << 20,
  pageMaxBytes: 8 << 20,
  historyMaxMessages: 1000,
  turnsPerOwner: 1000,
  turnsPerProcess: 20_000,
  tasksPerOwner: 10_000,
  taskWaitMaxMs: 30 * 24 * 3_600_000,
  turnWaitMs: 1000,
  turnWaitMaxBytes: 64 << 20,
  runningMaxBytes: 512 << 20,
  runningWaitMs: 30_000,
  inboxMaxMessages: 16,
  inboxWaitMs: 10_000,
  taskAfterMs: 1000,
  graceMs: 5000,
  storeRetryMs: 30_000,
  storeWaitMs: 2000,
  storeOutageMs: 10_000,
  agentCallDepth: 8,
  turnDeadlineMs: undefined,
  heartbeatMs: 3000,
  instanceTtlMs: 15_000,
  pollMs: 1000,
  minWakeIntervalMs: 1000,
  pushConfigsPerTask: 10,
  conversationEntriesPerOwner: 100_000,
  conversationOwnerMaxBytes: 128 << 20,
  contextStateMaxBytes: 64 << 10,
};

export const fixedLimits: FixedLimits = {
  readsPerOwner: 4,
  batchMaxEvents: 64,
  batchMaxBytes: 256 << 10,
  keptReplyMaxBytes: 256 << 10,
  conversationEntryMaxBytes: 64 << 10,
};

export const defaultCoreLimits: CoreLimits = { ...defaultTaskLimits, ...fixedLimits };

/** The limits with their defaults filled in. */
export function coreLimits(overrides?: Partial<CoreLimits>): CoreLimits {
  const runningMaxBytes = Math.min(defaultCoreLimits.runningMaxBytes, shareOfHeap(1 / 6));
  return withDefaults({ ...defaultCoreLimits, runningMaxBytes }, overrides);
}
