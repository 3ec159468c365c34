import { monotonic } from "../protocol/async/clock.js";
import type { Scope } from "../protocol/context.js";
import { scopeKey } from "../protocol/fair-share.js";
import type { Clock } from "./ports.js";

/**
 * A queue of turns that yield to the event loop. They continue round robin by owner, for a few milliseconds in each
 * round of the loop. So calls are served between any number of busy turns, and an owner with one turn continues as soon
 * as an owner with a thousand.
 */
export interface TurnYields {
  /** Calls `resume` when a turn of the owner may continue, in the next round of the event loop at the earliest. */
  take(scope: Scope, resume: () => void): void;
}

/** How long turns continue in one round of the event loop. The others wait for the next round. */
const roundMs = 4;

export function createTurnYields(clock: Clock): TurnYields {
  /** Turns that wait, in round-robin order: the next owner comes first. */
  const owners = new Map<string, (() => void)[]>();
  /** When the first turn of this round continued. */
  let roundStart: number | undefined;

  // Runs once for each turn that waits.
  const continueNext = (): void => {
    if (roundStart === undefined) {
      roundStart = monotonic(clock);
      setImmediate(endRound);
    } else if (monotonic(clock) - roundStart > roundMs) {
      setImmediate(continueNext);
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
    roundStart = undefined;
  };

  return {
    take(scope, resume) {
      const key = scopeKey(scope);
      const turns = owners.get(key);
      if (turns === undefined) owners.set(key, [resume]);
      else turns.push(resume);
      setImmediate(continueNext);
    },
  };
}
