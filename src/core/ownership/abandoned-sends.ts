import { monotonic } from "../../protocol/async/clock.js";
import type { SendClaim } from "../ports.js";
import type { Runtime } from "../runtime.js";

/** Marks a send that this process has abandoned; the heartbeat frees its record. */
export function abandonSend({ clock, abandonedSends }: Runtime, claim: SendClaim): void {
  abandonedSends.set(claim.entry, { claim, abandonedAt: monotonic(clock) });
}

/** Frees the records of abandoned sends, until their late writes can no longer arrive. */
export async function freeAbandonedSends({ clock, abandonedSends, limits, store }: Runtime): Promise<void> {
  for (const [entry, { claim, abandonedAt }] of abandonedSends) {
    const isOver = monotonic(clock) - abandonedAt > limits.instanceTtlMs;
    await store.takeSend(claim, "");
    if (isOver) abandonedSends.delete(entry);
  }
}
