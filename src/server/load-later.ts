import { pause, within } from "../protocol/async/pause.js";
import { systemClock } from "../protocol/async/system-clock.js";

/** Pause before each step, in milliseconds. */
const pauseMs = 100;
/** Longest wait for an idle moment before a step, in milliseconds. */
const patienceMs = 2_000;

/** Loads code that calls may need. Earlier calls load it themselves. */
export type LoadStep = () => Promise<unknown>;

/**
 * Loads what the next calls may need, a step at a time, while no call is under way. Does not keep the process alive. Returns
 * a function that stops it.
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
