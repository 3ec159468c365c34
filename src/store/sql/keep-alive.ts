const longestTimerMs = 2 ** 31 - 1;

/**
 * Keeps the process alive until `run` is done. The connections of a store do not, and a process in which nothing else is
 * left would end in the middle of closing them.
 */
export async function keepAlive<T>(run: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, longestTimerMs);
  try {
    return await run();
  } finally {
    clearInterval(timer);
  }
}
