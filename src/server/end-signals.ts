import type { Logger } from "../protocol/logger.js";

// Signals that ask a process to end, for servers and for commands. The first one starts an orderly end and removes the
// listeners. So a second one, of whatever kind, has the system's default effect: it ends the process at once, even while
// the event loop is blocked. Loaded only where signals are handled.

/** The signals, with the exit codes that a shell reports for them. Ctrl-Break on Windows is SIGBREAK. */
export const endSignals = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129, SIGBREAK: 149 } as const;

/** The name of a signal that asks a process to end. */
export type EndSignal = keyof typeof endSignals;

const names = Object.keys(endSignals) as readonly EndSignal[];

/**
 * Calls `first` with the first signal that asks this process to end. Later ones, of whatever kind, end the process at once;
 * with `again`, they call it instead. Returns a function that stops listening.
 */
export function onEndSignal(first: (signal: EndSignal) => void, again?: (signal: EndSignal) => void): () => void {
  let stop = listen(names, (signal) => {
    // While the program listens for a signal itself, the system does not end the process.
    const others = again === undefined ? names.filter((name) => process.listenerCount(name) > 1) : names;
    // In this order: a signal with another listener never gets its default effect.
    const stopOthers = listen(others, again ?? ((name) => process.exit(endSignals[name])));
    stop();
    stop = stopOthers;
    first(signal);
  });
  return () => stop();
}

function listen(signals: readonly EndSignal[], listener: (signal: EndSignal) => void): () => void {
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}

interface Closing {
  readonly close: () => Promise<void>;
  readonly logger: Logger;
}

const closings = new Set<Closing>();
let stopListening: (() => void) | undefined;

/**
 * Calls `close` at the first signal. Ends the process once every server's `close` has settled: with 0, or with 1 if one
 * rejects. For later signals, see `onEndSignal`. Call the returned function when a server was closed without a signal.
 */
export function closeOnSignals(
  close: () => Promise<void>,
  logger: Logger,
  again?: (signal: EndSignal) => void,
): () => void {
  const closing: Closing = { close, logger };
  closings.add(closing);
  stopListening ??= onEndSignal(closeAll, again);
  return () => {
    closings.delete(closing);
    if (closings.size > 0) return;
    stopListening?.();
    stopListening = undefined;
  };
}

async function closeAll(signal: EndSignal): Promise<void> {
  const areClosed = await Promise.all([...closings].map((each) => closeFor(signal, each)));
  process.exit(areClosed.every(Boolean) ? 0 : 1);
}

async function closeFor(signal: EndSignal, { close, logger }: Closing): Promise<boolean> {
  logger.info({ signal }, "closing");
  try {
    await close();
    return true;
  } catch (error) {
    logger.error({ err: error }, "the server could not be closed");
    return false;
  }
}
