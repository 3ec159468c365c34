import type { Clock } from "../../core/ports.js";
import { amount, clock, func, type MembersOf, object, type Rule, text } from "../../protocol/check/rules.js";
import { shareOfHeap } from "../../protocol/heap-size.js";
import type { RetentionLimits } from "./retention.js";
import type { SendLimits } from "./send-records.js";

/** Limits of a store in memory, in bytes and milliseconds. */
export interface MemoryTaskStoreOptions {
  /** Time, for tests. Default: the machine's time. */
  readonly clock?: Clock | undefined;
  /**
   * Size of all tasks and conversations. Unfinished tasks of one owner, at all agents, take at most half of what those
   * of others leave: then its sends are refused (`resourceExhausted`), and its running tasks end FAILED when they grow.
   * Finished tasks are dropped to make room: first those of owners above their share, then the oldest. Without
   * authentication, all callers share the whole size. Default: 256 MiB, but at most a sixth of the heap.
   */
  readonly maxBytes?: number | undefined;
  /** How long the log of a finished task is kept, so that late subscribers get every event. Default: 60 s. */
  readonly finishedLogMs?: number | undefined;
  /** Size of the logs of finished tasks. Default: 64 MiB, but at most a 24th of the heap. */
  readonly finishedLogMaxBytes?: number | undefined;
  /** Number of idempotent sends to remember; the oldest are forgotten first. Default: 100,000. */
  readonly sendsMax?: number | undefined;
  /** How long an idempotent send is remembered, in milliseconds. Default: 24 h. */
  readonly sendsMaxAgeMs?: number | undefined;
  /** Size of the records of idempotent sends with their recorded replies. Default: 64 MiB. */
  readonly sendsMaxBytes?: number | undefined;
  /**
   * Size of all conversations and states of contexts, which count towards `maxBytes` as well; the least recently used
   * are dropped first. Those of one owner, at all agents, take at most half of what those of others leave. Default: an
   * eighth of `maxBytes`.
   */
  readonly conversationsMaxBytes?: number | undefined;
  /** Distinguishes the event ids of this store from those of others. Default: random. */
  readonly incarnation?: string | undefined;
  /**
   * Delays each batch of writes until the promise resolves, to simulate a slow store; if it rejects, the writes fail.
   * Default: none.
   */
  readonly beforeFlush?: ((writes: number) => Promise<void> | undefined) | undefined;
}

const members: MembersOf<MemoryTaskStoreOptions> = {
  clock: { rule: clock },
  maxBytes: { rule: amount },
  finishedLogMs: { rule: amount },
  finishedLogMaxBytes: { rule: amount },
  sendsMax: { rule: amount },
  sendsMaxAgeMs: { rule: amount },
  sendsMaxBytes: { rule: amount },
  conversationsMaxBytes: { rule: amount },
  incarnation: { rule: text },
  beforeFlush: { rule: func },
};

/** The options of `memoryTaskStore()`. */
export const memoryRule: Rule = object(members);

const mebibyte = 2 ** 20;

export function resolveLimits(options: MemoryTaskStoreOptions): RetentionLimits {
  const { maxBytes = Math.min(256 * mebibyte, shareOfHeap(1 / 6)), finishedLogMs = 60_000 } = options;
  const { finishedLogMaxBytes = Math.min(64 * mebibyte, shareOfHeap(1 / 24)) } = options;
  return { maxBytes, finishedLogMs, finishedLogMaxBytes };
}

export function resolveSendLimits(options: MemoryTaskStoreOptions): SendLimits {
  const { sendsMax = 100_000, sendsMaxAgeMs = 24 * 3_600_000, sendsMaxBytes = 64 * mebibyte } = options;
  return { sendsMax, sendsMaxAgeMs, sendsMaxBytes };
}

export function resolveConversationBytes(options: MemoryTaskStoreOptions): number {
  return options.conversationsMaxBytes ?? resolveLimits(options).maxBytes / 8;
}
