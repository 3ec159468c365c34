import type { Logger } from "../protocol/logger.js";
import { inboxCalls, type TaskInbox } from "./ports/inbox.js";
import { type Instances, instanceCalls } from "./ports/instances.js";
import { logCalls, type TaskLog } from "./ports/log.js";
import type { PushStore } from "./ports/push.js";
import { type SendRecords, sendCalls } from "./ports/sends.js";
import type { Signals } from "./ports/signals.js";

export type { Clock } from "../protocol/async/clock.js";
export * from "./ports/calls.js";
export * from "./ports/inbox.js";
export * from "./ports/instances.js";
export * from "./ports/log.js";
export * from "./ports/push.js";
export * from "./ports/sends.js";
export * from "./ports/signals.js";

// All that the core asks of the outside. Each port has a contract suite in test/contract that every implementation runs.

/**
 * Where tasks live. Every method may reject when the store cannot be reached; a caller then does not know whether a
 * write took effect and finds out by reading the head.
 */
export interface TaskStore extends TaskLog, TaskInbox, Instances, SendRecords {
  close(): Promise<void>;
}

/** Every call of a task store. */
export const taskCalls = { ...logCalls, ...inboxCalls, ...instanceCalls, ...sendCalls };

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
