import type { Hint, Signals } from "../core/ports.js";
import { type Logger, silentLogger } from "../protocol/logger.js";

interface Subscription {
  readonly listener: (hint: Hint) => void;
  isEnded: boolean;
}

export interface InProcessSignalsOptions {
  /** Receives errors of listeners. Default: none. */
  readonly logger?: Logger | undefined;
}

/**
 * Hints between the handlers of one process. Listeners are called within `publish`; one that throws does not affect
 * others.
 */
export function inProcessSignals(options: InProcessSignalsOptions = {}): Signals {
  const { logger = silentLogger } = options;
  // Replaced instead of modified, so that listeners may be added and removed while a hint is published.
  let subscriptions: readonly Subscription[] = [];

  return {
    publish(hint) {
      for (const subscription of subscriptions) {
        if (subscription.isEnded) continue;
        try {
          subscription.listener(hint);
        } catch (error) {
          logger.error({ err: error, hint }, "a listener of hints threw");
        }
      }
    },
    subscribe(listener) {
      const subscription = { listener, isEnded: false };
      subscriptions = [...subscriptions, subscription];
      return () => {
        subscription.isEnded = true;
        subscriptions = subscriptions.filter((other) => other !== subscription);
      };
    },
  };
}

/** The hints that all handlers of this process share by default. */
export const processSignals: Signals = inProcessSignals();
