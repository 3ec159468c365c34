import type { Clock } from "../ports.js";

const burstEvents = 64;
const burstMs = 1;

/**
 * Keeps an agent that never waits from starving the process: it leaves the microtask queue after the first event, then
 * after every millisecond or 64 events. An agent whose first event is its answer continues at once.
 */
export interface YieldBudget {
  /** Called after each event. */
  due(answered: boolean): boolean;
  take(): Promise<void>;
}

/** What a budget needs of its turn. */
export interface YieldingTurn {
  readonly runtime: { readonly clock: Clock };
  /** Calls `resume` when the turn may continue. */
  yields(resume: () => void): void;
}

export function createYieldBudget(turn: YieldingTurn): YieldBudget {
  const { clock } = turn.runtime;
  let remaining = 0;
  let resumedAt = clock.now();
  return {
    due(answered) {
      if (remaining === 0 && answered) remaining = burstEvents;
      return --remaining < 0 || clock.now() - resumedAt > burstMs;
    },
    take: () =>
      new Promise((resolve) => {
        turn.yields(() => {
          remaining = burstEvents - 1;
          resumedAt = clock.now();
          resolve();
        });
      }),
  };
}
