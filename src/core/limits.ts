/** Limits of the core; bytes, counts and milliseconds. Every one has a row in docs/limits.md. */
export interface CoreLimits {
  /** One event of an agent. Default: 4 MiB. */
  readonly eventMaxBytes: number;
  /** All of one task. Default: 32 MiB. */
  readonly taskMaxBytes: number;
  /** Messages in the history of a task. Default: 1,000. */
  readonly historyMaxMessages: number;
  /** Turns that run at once for one owner. Default: 1,000. */
  readonly turnsPerOwner: number;
  /** Turns that run at once in the process. Default: 20,000. */
  readonly turnsPerProcess: number;
  /** How long a send waits for the end of another turn when a limit of turns is reached. Default: 1 s. */
  readonly turnWaitMs: number;
  /** Events and bytes that a turn may be ahead of the store. Default: 64 and 256 KiB. */
  readonly batchMaxEvents: number;
  readonly batchMaxBytes: number;
  /** Messages that wait for a turn of one task. Default: 16. */
  readonly inboxMaxMessages: number;
  /** How long a `returnImmediately` send to a busy task waits to be taken. Default: 10 s. */
  readonly inboxWaitMs: number;
  /** How long an agent may say nothing before its caller gets a task. Default: 1 s. */
  readonly taskAfterMs: number;
  /** How long an agent has to unwind after an abort. Default: 5 s. */
  readonly graceMs: number;
  /** How long a turn waits for a store that fails. Default: 30 s. */
  readonly storeRetryMs: number;
  /** Limit of one turn. Default: none. */
  readonly turnDeadlineMs: number | undefined;
  /** Renewal and expiry of this process's claim on its tasks. Defaults: 3 s and 15 s. */
  readonly heartbeatMs: number;
  readonly instanceTtlMs: number;
  /** How often lost hints are repaired. Default: 1 s. */
  readonly pollMs: number;
  /** A message as a whole answer that is kept for a send that may come again; a larger one makes a task. Default: 256 KiB. */
  readonly keptReplyMaxBytes: number;
  /** Time between two wakes of a parked task by its own time, at least. Default: 1 s. */
  readonly wakePauseMs: number;
  /** Push configurations of one task. Default: 10. */
  readonly pushConfigsPerTask: number;
}

/** The defaults of `CoreLimits`. */
export const defaultCoreLimits: CoreLimits = {
  eventMaxBytes: 4 << 20,
  taskMaxBytes: 32 << 20,
  historyMaxMessages: 1000,
  turnsPerOwner: 1000,
  turnsPerProcess: 20_000,
  turnWaitMs: 1000,
  batchMaxEvents: 64,
  batchMaxBytes: 256 << 10,
  inboxMaxMessages: 16,
  inboxWaitMs: 10_000,
  taskAfterMs: 1000,
  graceMs: 5000,
  storeRetryMs: 30_000,
  turnDeadlineMs: undefined,
  heartbeatMs: 3000,
  instanceTtlMs: 15_000,
  pollMs: 1000,
  keptReplyMaxBytes: 256 << 10,
  wakePauseMs: 1000,
  pushConfigsPerTask: 10,
};
