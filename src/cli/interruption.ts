import { endSignals, onEndSignal } from "../server/end-signals.js";

/**
 * Runs a function with an `AbortSignal` that Ctrl-C, or another signal that asks the process to end, aborts. The exit code
 * is then the one of that signal. A second signal, of whatever kind, ends the process at once.
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
