/** Limits of push deliveries. */
export interface PushLimits {
  /** Concurrent calls to webhooks in the process. Default: 512. */
  readonly pushCallsAtOnce: number;
  /** Concurrent calls to webhooks of one owner. Without `auth` or `authenticate` only the process limit applies. Default: 128. */
  readonly pushCallsPerOwner: number;
  /**
   * Largest number of concurrent calls to one destination (scheme, host and port). Each owner starts with 4 per
   * destination; success raises that number, and a failure halves it. Default: 64.
   */
  readonly pushCallsPerDestination: number;
  /** Consecutive failures after which an owner's calls to a destination run one at a time, with pauses. Default: 5. */
  readonly pushBreakerThreshold: number;
  /**
   * Longest pause between calls to a failing destination; also the longest `Retry-After` that is obeyed. Default: 60 s.
   */
  readonly pushPauseMaxMs: number;
  /** Time limit for the answer of a webhook. Default: 15 s. */
  readonly pushTimeoutMs: number;
  /** Attempts to deliver an event before it is dropped. Default: 3. */
  readonly pushAttempts: number;
  /** Pause before the second attempt; each further pause is four times as long. Default: 1 s. */
  readonly pushRetryMs: number;
}

export const defaultPushLimits: PushLimits = {
  pushCallsAtOnce: 512,
  pushCallsPerOwner: 128,
  pushCallsPerDestination: 64,
  pushBreakerThreshold: 5,
  pushPauseMaxMs: 60_000,
  pushTimeoutMs: 15_000,
  pushAttempts: 3,
  pushRetryMs: 1000,
};
