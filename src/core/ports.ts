import type { Logger } from "../protocol/logger.js";
import type { StoreFlush } from "../protocol/telemetry/follow.js";
import { type Conversations, conversationCalls } from "./ports/conversations.js";
import { inboxCalls, type TaskInbox } from "./ports/inbox.js";
import { type Instances, instanceCalls } from "./ports/instances.js";
import { logCalls, type TaskLog } from "./ports/log.js";
import type { PushStore } from "./ports/push.js";
import type { RateStore } from "./ports/rates.js";
import { type SendRecords, sendCalls } from "./ports/sends.js";
import type { Signals } from "./ports/signals.js";

export type { Clock } from "../protocol/async/clock.js";
export * from "./ports/conversations.js";
export * from "./ports/inbox.js";
export * from "./ports/instances.js";
export * from "./ports/log.js";
export * from "./ports/methods.js";
export * from "./ports/push.js";
export * from "./ports/rates.js";
export * from "./ports/sends.js";
export * from "./ports/signals.js";

// Everything the core needs from outside. Each part in `ports/` has an interface and a table of its calls, from which
// the guards of the core, the proxy of SQLite's thread, the plain calls of a SQL store and the simulator's faulty store
// are made.
//
// A new call of the store needs its method and its row in a part, and the compiler then asks for it in
// `store/memory/task-store.ts` and in a file of `store/sql/queries/`. If it takes or answers messages, which a database
// has as bytes, it also needs its row form in `store/sql/rows.ts` and its translation in `store/sql/task-store.ts`.
// Nothing asks for its cases in `testing/contract/`, which every store runs.
//
// A new store implements `Store`, or over a database in SQL the `SqlDialect` and the `HotPath` of
// `store/sql/dialect.ts`, and runs the contract.

/**
 * The store of tasks. Every method may reject when the store is unreachable; the caller then does not know whether a
 * write took effect and reads the head to find out. The member `failure` of an error may say why: `"full"` means
 * that the store has no room for writes, `"moved"` that writes would be lost until the process restarts, and `"damaged"`,
 * `"unusable"`, `"forbidden"` and `"readOnly"` that the database itself fails.
 */
export interface TaskStore extends TaskLog, TaskInbox, Instances, SendRecords, Conversations {
  /** Waits for writes under way and releases everything. */
  close(): Promise<void>;
}

/** Every call of a task store. */
export const taskCalls = { ...logCalls, ...inboxCalls, ...instanceCalls, ...sendCalls, ...conversationCalls };

/**
 * A task store, with its own push store, rate limits and signals where it has them. Each is used unless the options
 * name another.
 */
export interface Store extends TaskStore {
  /** Whether other processes are likely to use it, so that a dismissed stream can resume there. Default: false. */
  readonly shared?: boolean | undefined;
  /**
   * Limit of the store's own data in the heap of its process, in bytes. Running tasks take at most a quarter of it, since
   * the store has them too, with their logs and snapshots. Default: it keeps nothing there.
   */
  readonly heapMaxBytes?: number | undefined;
  /** Push configurations. Default: none; without a push store there are no push notifications. */
  readonly push?: PushStore | undefined;
  /** Limits of callers (`rate`), shared by the processes on the store. Default: each process counts for itself. */
  readonly rates?: RateStore | undefined;
  /** Hints between processes on the store. Default: hints stay within the process. */
  readonly signals?: Signals | undefined;
  /**
   * Prepares the store for the first call. Rejects with a readable message when it cannot be used. `logger`: receives
   * the progress of slow steps, unless the store has its own logger. Default: nothing to prepare.
   */
  open?(logger?: Logger): Promise<void>;
  /** Calls `listener` after each commit, until the returned function is called. Default: commits are not measured. */
  onFlush?(listener: (flush: StoreFlush) => void): () => void;
}
