/** Waits for a promise that nobody can end. Rejects with the signal's reason as soon as it aborts. */
export async function unlessAborted<T>(signal: AbortSignal, wait: Promise<T>): Promise<T> {
  let leave = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
  });
  try {
    return await Promise.race([wait, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
