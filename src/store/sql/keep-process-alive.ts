import { longestTimerMs } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";

/**
 * Keeps the process alive until `run` is done. A store's connections do not, so a process with nothing else to do would
 * exit while closing them.
 */
export async function keepAlive<T>(run: () => Promise<T>): Promise<T> {
  const timer = setInterval(noop, longestTimerMs);
  try {
    return await run();
  } finally {
    clearInterval(timer);
  }
}
