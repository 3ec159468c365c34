import type { Store } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import type { Logger } from "../protocol/logger.js";
import { closeOnSignals } from "../server/end-signals.js";
import type { Server } from "../server/serve.js";

/**
 * Closes the server and then its store at a signal, and ends the process. A second signal ends it at once. With `onClosing`,
 * which tells a watching process, a second signal has no effect: a terminal signals both, and the watching process kills
 * this one.
 */
export function endOnSignals(
  server: Server,
  store: Pick<Store, "close"> | undefined,
  logger: Logger,
  onClosing?: () => void,
): void {
  const close = async (): Promise<void> => {
    onClosing?.();
    await server.close();
    await store?.close();
  };
  closeOnSignals(close, logger, onClosing && noop);
}
