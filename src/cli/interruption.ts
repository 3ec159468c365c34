import { endSignals, onEndSignal } from "../server/end-signals.js";

/**
 * Runs a function with a signal that the first Ctrl-C aborts, or another signal that asks the process to end; the exit code
 * is then that of the interruption. A second one, of whatever kind, ends the process at once.
 */
export async function runInterruptible(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const interruption = new AbortController();
  const stop = onEndSignal((name) => {
    process.exitCode = endSignals[name];
    interruption.abort();
  });
  try {
    await run(interruption.signal);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
  } finally {
    stop();
  }
}
