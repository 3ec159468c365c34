/** Counts active work and lets others wait for its end. */
export interface IdleCounter {
  readonly count: number;
  /** Adds one. */
  begin(): void;
  /** Takes one away. */
  end(): void;
  /** Adds one until the returned function is called; calling that again does nothing. */
  enter(): () => void;
  /** Resolves when nothing is active. */
  idle(): Promise<void>;
}

export function createIdleCounter(): IdleCounter {
  const waiters: (() => void)[] = [];
  let count = 0;
  const end = (): void => {
    count -= 1;
    if (count === 0) for (const resolve of waiters.splice(0)) resolve();
  };
  return {
    get count() {
      return count;
    },
    begin() {
      count += 1;
    },
    end,
    enter() {
      count += 1;
      let isIn = true;
      return () => {
        if (isIn) end();
        isIn = false;
      };
    },
    idle: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiters.push(resolve))),
  };
}
