const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs a function that the first Ctrl-C ends gracefully: its signal aborts, and the exit code says why. A second one
 * exits at once.
 */
export async function interruptible(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interrupted = new AbortController();
  const stops = (["SIGINT", "SIGTERM"] as const).map((name) => {
    const stop = (): void => {
      process.exitCode = exitCodes[name];
      interrupted.abort();
    };
    process.once(name, stop);
    return () => process.off(name, stop);
  });
  try {
    await run(interrupted.signal);
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}
