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

export function createYieldBudget({ now }: { now(): number }): YieldBudget {
  let left = 0;
  let since = now();
  return {
    due(answered) {
      if (left === 0 && answered) left = burstEvents;
      return --left < 0 || now() - since > burstMs;
    },
    take: () =>
      new Promise((resolve) => {
        setImmediate(() => {
          left = burstEvents - 1;
          since = now();
          resolve();
        });
      }),
  };
}
