import type { Clock } from "../core/ports.js";
import { unlessAborted } from "../protocol/async/pause.js";
import { retry } from "../protocol/async/retry.js";

/** Asks a store that may fail until it answers. */
export type AskStore = <T>(question: () => Promise<T>) => Promise<T>;

export interface AskStoreOptions {
  readonly clock: Clock;
  /** Ends a call that is under way too. */
  readonly stop: AbortSignal;
  /** Ends waiting for another try. */
  readonly hurry: AbortSignal;
  /** Hears of the first failure of a question. */
  readonly onError: (error: unknown) => void;
}

const storePauseMs = 1000;

export function createAskStore({ clock, stop, hurry, onError }: AskStoreOptions): AskStore {
  const pauseAfter = (error: unknown, failures: number): number => {
    stop.throwIfAborted();
    if (failures === 1) onError(error);
    return storePauseMs;
  };
  return (question) => {
    const ask = async () => {
      stop.throwIfAborted();
      return unlessAborted(question(), stop);
    };
    return retry(ask, { clock, pauseAfter, signals: [hurry] });
  };
}
