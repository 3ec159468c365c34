import { grownPause } from "../protocol/async/retry.js";
import type { CallOutcome } from "./call.js";
import type { PushLimits } from "./limits.js";

const factor = 4;

/** The outcome of an event and its number of attempts. `gone`: the configuration is deleted. */
export interface Attempts {
  readonly outcome: CallOutcome | "gone";
  readonly attempts: number;
}

/** Retries with growing pauses while a retry may help and attempts are left. */
export async function attemptOften(
  attempt: () => Promise<CallOutcome | "gone">,
  { pushAttempts, pushRetryMs }: PushLimits,
  pause: (ms: number) => Promise<void>,
): Promise<Attempts> {
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt();
    if (outcome === "gone" || outcome.kind !== "failed" || attempts >= pushAttempts) return { outcome, attempts };
    await pause(grownPause(attempts, { firstMs: pushRetryMs, factor }));
  }
}
