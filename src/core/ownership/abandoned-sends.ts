import { monotonic } from "../../protocol/async/clock.js";
import type { SendClaim } from "../ports.js";
import type { Runtime } from "../runtime.js";

/** Marks a send that this process has abandoned; the heartbeat frees its record. */
export function giveUpSend({ clock, givenUp }: Runtime, claim: SendClaim): void {
  givenUp.set(claim.entry, { claim, since: monotonic(clock) });
}

/** Frees the records of abandoned sends, until their late writes can no longer arrive. */
export async function freeGivenUp({ clock, givenUp, limits, store }: Runtime): Promise<void> {
  for (const [entry, { claim, since }] of givenUp) {
    const over = monotonic(clock) - since > limits.instanceTtlMs;
    await store.takeSend(claim, "");
    if (over) givenUp.delete(entry);
  }
}
