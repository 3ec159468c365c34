import type { Clock } from "../core/ports.js";
import { pause } from "./pause.js";
import { unlessAborted } from "./unless-aborted.js";

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
  return async (question) => {
    for (let failures = 0; ; failures++) {
      stop.throwIfAborted();
      try {
        return await unlessAborted(stop, question());
      } catch (error) {
        stop.throwIfAborted();
        if (failures === 0) onError(error);
      }
      await pause(clock, storePauseMs, hurry);
    }
  };
}
