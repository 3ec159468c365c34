/** Counts active work and lets others wait for its end. */
export interface IdleCounter {
  readonly count: number;
  /** Adds one until the returned function is called; calling that again does nothing. */
  enter(): () => void;
  /** Resolves when nothing is active. */
  idle(): Promise<void>;
}

export function createIdleCounter(): IdleCounter {
  const waiters: (() => void)[] = [];
  let count = 0;
  return {
    get count() {
      return count;
    },
    enter() {
      count += 1;
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        count -= 1;
        if (count === 0) for (const resolve of waiters.splice(0)) resolve();
      };
    },
    idle: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
}
