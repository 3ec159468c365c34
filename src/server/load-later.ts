import { pause, within } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";

/** How long a process is left to its first calls, and between two steps, in milliseconds. */
const pauseMs = 100;
/** How long a step lets calls go first. A server that is never idle loads all the same. */
const patienceMs = 2_000;

/** Something that calls may need, and how it is loaded. Calls that come earlier load it themselves. */
export type LoadStep = () => Promise<unknown>;

/**
 * Loads what the next calls may need, a step at a time, while no call is under way. Does not keep the process alive. Returns
 * what ends it.
 */
export function loadLater(steps: readonly LoadStep[], idle: () => Promise<void>): () => void {
  let ended = false;
  const run = async (): Promise<void> => {
    for (const step of steps) {
      await pause(systemClock, pauseMs);
      await within(systemClock, patienceMs, idle());
      if (ended) return;
      await step();
    }
  };
  void run();
  return () => {
    ended = true;
  };
}
