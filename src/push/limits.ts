/** Limits of push deliveries. */
export interface PushLimits {
  /** Concurrent calls to webhooks in the process. Default: 16. */
  readonly pushCallsAtOnce: number;
  /** Time limit of a webhook's answer. Default: 15 s. */
  readonly pushTimeoutMs: number;
  /** Attempts to deliver an event before it is dropped. Default: 3. */
  readonly pushAttempts: number;
  /** Pause before the second attempt; each further pause is four times as long. Default: 1 s. */
  readonly pushRetryMs: number;
}

export const defaultPushLimits: PushLimits = {
  pushCallsAtOnce: 16,
  pushTimeoutMs: 15_000,
  pushAttempts: 3,
  pushRetryMs: 1000,
};
