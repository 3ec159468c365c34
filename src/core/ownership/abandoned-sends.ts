import type { SendClaim } from "../ports.js";
import type { Runtime } from "../runtime.js";

/** Leaves a send whose record may name this process, though nobody here works on it, to the heartbeat. */
export function giveUpSend({ clock, givenUp }: Runtime, claim: SendClaim): void {
  givenUp.set(claim.entry, { claim, since: clock.now() });
}

/** Frees the records of sends that were given up, for as long as a write of theirs may arrive late. */
export async function freeGivenUp({ clock, givenUp, limits, store }: Runtime): Promise<void> {
  for (const [entry, { claim, since }] of givenUp) {
    const over = clock.now() - since > limits.instanceTtlMs;
    await store.takeSend(claim, "");
    if (over) givenUp.delete(entry);
  }
}
