/** Limits of push deliveries. */
export interface PushLimits {
  /** Calls to webhooks that are under way at once, in the process. Default: 16. */
  readonly pushCallsAtOnce: number;
  /** How long a webhook may take to answer. Default: 15 s. */
  readonly pushTimeoutMs: number;
  /** How often an event is sent until the webhook takes it; then it is given up. Default: 3. */
  readonly pushAttempts: number;
  /** The pause before the second attempt; each further one is four times as long. Default: 1 s. */
  readonly pushRetryMs: number;
}

export const defaultPushLimits: PushLimits = {
  pushCallsAtOnce: 16,
  pushTimeoutMs: 15_000,
  pushAttempts: 3,
  pushRetryMs: 1000,
};
