import { monotonic } from "../protocol/async/clock.js";
import type { Scope } from "../protocol/context.js";
import type { Clock } from "./ports.js";

/**
 * Where turns wait that yield to the event loop. They continue round robin by owner, and in one round of the loop only until
 * some milliseconds are full: however many turns never wait, calls are served between them, and an owner with one turn
 * continues as soon as an owner with a thousand.
 */
export interface TurnYields {
  /** Calls `resume` when a turn of the owner may continue, in the next round of the event loop at the earliest. */
  take(scope: Scope, resume: () => void): void;
}

/** After this time in a round of the event loop the turns that are left wait for the next one. */
const roundMs = 4;

export function createTurnYields(clock: Clock): TurnYields {
  /** Turns that wait, in round-robin order: the next owner comes first. */
  const owners = new Map<string, (() => void)[]>();
  /** When the first turn of this round continued. */
  let since: number | undefined;

  // Runs once for each turn that waits.
  const goOn = (): void => {
    if (since === undefined) {
      since = monotonic(clock);
      setImmediate(endRound);
    } else if (monotonic(clock) - since > roundMs) {
      setImmediate(goOn);
      return;
    }
    const [first] = owners;
    if (first === undefined) return;
    const [owner, turns] = first;
    const resume = turns.shift();
    owners.delete(owner);
    if (turns.length > 0) owners.set(owner, turns);
    resume?.();
  };

  const endRound = (): void => {
    since = undefined;
  };

  return {
    take({ agent, tenant, owner }, resume) {
      const key = agent === "" && tenant === "" ? owner : `${agent}\n${tenant}\n${owner}`;
      const turns = owners.get(key);
      if (turns === undefined) owners.set(key, [resume]);
      else turns.push(resume);
      setImmediate(goOn);
    },
  };
}
