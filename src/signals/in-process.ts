import type { Hint, Signals } from "../core/ports.js";
import { type Logger, silentLogger } from "../protocol/logger.js";

interface Subscription {
  readonly listener: (hint: Hint) => void;
  ended: boolean;
}

export interface InProcessSignalsOptions {
  /** Told of listeners that throw. Default: says nothing. */
  readonly logger?: Logger | undefined;
}

/** Hints between the handlers of one process. A listener is called within `publish`; one that throws does not affect others. */
export function inProcessSignals(options: InProcessSignalsOptions = {}): Signals {
  const { logger = silentLogger } = options;
  // Replaced and never changed, so that listeners may come and go while a hint goes round.
  let subscriptions: readonly Subscription[] = [];

  return {
    publish(hint) {
      for (const subscription of subscriptions) {
        if (subscription.ended) continue;
        try {
          subscription.listener(hint);
        } catch (error) {
          logger.error({ error, hint }, "a listener of hints threw");
        }
      }
    },
    subscribe(listener) {
      const subscription = { listener, ended: false };
      subscriptions = [...subscriptions, subscription];
      return () => {
        subscription.ended = true;
        subscriptions = subscriptions.filter((other) => other !== subscription);
      };
    },
  };
}

/** The hints that all handlers of this process share by default. */
export const processSignals: Signals = inProcessSignals();
