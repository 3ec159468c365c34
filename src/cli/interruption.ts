const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Runs a function with a signal that the first Ctrl-C aborts; the exit code is then that of the interruption. A second
 * Ctrl-C exits at once.
 */
export async function runInterruptible(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const stops = (["SIGINT", "SIGTERM"] as const).map((name) => {
    const stop = (): void => {
      process.exitCode = exitCodes[name];
      interruption.abort();
    };
    process.once(name, stop);
    return () => process.off(name, stop);
  });
  try {
    await run(interruption.signal);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}
