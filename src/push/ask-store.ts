import type { Clock } from "../core/ports.js";
import { unlessAborted } from "../protocol/async/pause.js";
import { retry } from "../protocol/async/retry.js";

/** Retries a store call until the store answers. */
export type AskStore = <T>(call: () => Promise<T>) => Promise<T>;

export interface AskStoreOptions {
  readonly clock: Clock;
  /** Aborts everything, including a call under way. */
  readonly stop: AbortSignal;
  /** Aborts the wait for a retry. */
  readonly flushNow: AbortSignal;
  /** Called with the first failure of a call. */
  readonly onError: (error: unknown) => void;
}

const storePauseMs = 1000;

export function createAskStore({ clock, stop, flushNow, onError }: AskStoreOptions): AskStore {
  const pauseAfter = (error: unknown, failures: number): number => {
    stop.throwIfAborted();
    if (failures === 1) onError(error);
    return storePauseMs;
  };
  return (call) => {
    const ask = async () => {
      stop.throwIfAborted();
      return unlessAborted(call(), stop);
    };
    return retry(ask, { clock, pauseAfter, signals: [flushNow] });
  };
}
