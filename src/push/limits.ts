/** Limits of push deliveries. */
export interface PushLimits {
  /** Concurrent calls to webhooks in the process. Default: 512. */
  readonly pushCallsAtOnce: number;
  /** Concurrent calls to webhooks of one owner. Without `authenticate` only the process limit applies. Default: 128. */
  readonly pushCallsPerOwner: number;
  /**
   * Most concurrent calls to one destination (scheme, host and port). Each owner starts with a limit of 4 there, which
   * grows with success and is halved by a failure. Default: 64.
   */
  readonly pushCallsPerDestination: number;
  /** Consecutive failures after which an owner calls a destination only once at a time, after pauses. Default: 5. */
  readonly pushBreakerThreshold: number;
  /** Longest pause between calls to a failing destination; also limits `Retry-After`. Default: 60 s. */
  readonly pushPauseMaxMs: number;
  /** Time limit of a webhook's answer. Default: 15 s. */
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
