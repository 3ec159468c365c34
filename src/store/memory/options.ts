import type { Clock } from "../../core/ports.js";
import type { RetentionLimits } from "./retention.js";
import type { SendLimits } from "./send-records.js";

export interface MemoryTaskStoreOptions {
  /** Default: the machine's time. */
  readonly clock?: Clock | undefined;
  /** What all tasks may take. Finished ones are dropped, the oldest first, to make room. Default: 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** How long the log of a finished task stays, so that late subscribers get each event. Default: 60 s. */
  readonly finishedLogMs?: number | undefined;
  /** What the logs of finished tasks may take. Default: 64 MiB. */
  readonly finishedLogMaxBytes?: number | undefined;
  /** How many sends are remembered that shall be done once; the oldest are forgotten first. Default: 100,000. */
  readonly sendsMax?: number | undefined;
  /** How long such a send is remembered. Default: 24 h. */
  readonly sendsMaxAgeMs?: number | undefined;
  /** What such sends may take, with the replies that are kept for them. Default: 64 MiB. */
  readonly sendsMaxBytes?: number | undefined;
  /** Marks the event ids of this store. Default: random. */
  readonly incarnation?: string | undefined;
  /** Delays each batch of writes until it resolves, to simulate a slow store; when it rejects, they fail. Default: none. */
  readonly beforeFlush?: ((writes: number) => Promise<void> | undefined) | undefined;
}

const mebibyte = 2 ** 20;

export function resolveLimits(options: MemoryTaskStoreOptions): RetentionLimits {
  const { maxBytes = 256 * mebibyte, finishedLogMs = 60_000, finishedLogMaxBytes = 64 * mebibyte } = options;
  return { maxBytes, finishedLogMs, finishedLogMaxBytes };
}

export function resolveSendLimits(options: MemoryTaskStoreOptions): SendLimits {
  const { sendsMax = 100_000, sendsMaxAgeMs = 24 * 3_600_000, sendsMaxBytes = 64 * mebibyte } = options;
  return { sendsMax, sendsMaxAgeMs, sendsMaxBytes };
}
