/** Limits concurrency; waiters are served in order of arrival. */
export interface Semaphore {
  /** Runs with a permit. Rejects with the signal's reason when it aborts before a permit is free. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createSemaphore(count: number): Semaphore {
  const waiting = new Set<() => void>();
  let free = count;

  const take = (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted();
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(enter);
        reject(signal.reason);
      };
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      waiting.add(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  };

  // A permit goes to the next waiter, so that no later caller can overtake it.
  const give = (): void => {
    const [next] = waiting;
    if (next === undefined) {
      free += 1;
      return;
    }
    waiting.delete(next);
    next();
  };

  return {
    async run(signal, work) {
      await take(signal);
      try {
        return await work();
      } finally {
        give();
      }
    },
  };
}
