import { monotonic } from "../protocol/async/clock.js";
import type { Scope } from "../protocol/context.js";
import { FairQueue } from "../protocol/fair-queue.js";
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
  const waiting = new FairQueue<() => void>();
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
    waiting.take()?.();
  };

  const endRound = (): void => {
    roundStart = undefined;
  };

  return {
    take(scope, resume) {
      waiting.add(scopeKey(scope), resume);
      setImmediate(continueNext);
    },
  };
}
