import type { Clock, PushRegistration, PushStore } from "../core/ports.js";
import { noop } from "../protocol/async/noop.js";
import { unlessAborted } from "../protocol/async/pause.js";
import type { Logger } from "../protocol/logger.js";

export interface AdoptionOptions {
  readonly store: PushStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly agentId: string;
  readonly instance: string;
  readonly everyMs: number;
  /** Starts delivering a configuration. Returns false when this process already delivers it. */
  take(registration: PushRegistration): boolean;
}

/** Adopts configurations without a live holder: those of processes that exited or were killed. */
export interface Adoption {
  /** Adopts nothing more. */
  stop(): void;
  /** Releases what this process holds of the agent. Waits at most `ms` for the store; never rejects. */
  release(ms: number): Promise<void>;
}

const batchSize = 100;

export function startAdoption(options: AdoptionOptions): Adoption {
  const { store, clock, logger, agentId, instance, everyMs, take } = options;
  const stopController = new AbortController();
  let cancel = noop;
  let failures = 0;

  const adoptAll = async (): Promise<void> => {
    // The last adoption may have succeeded without an answer: its configurations are released and adopted again.
    if (failures > 0) await unlessAborted(store.release(agentId, instance), stopController.signal);
    for (let more = true; more && !stopController.signal.aborted; ) {
      const registrations = await unlessAborted(store.adopt(agentId, instance, batchSize), stopController.signal);
      const newOnes = registrations.filter(take);
      // A store that returns only known configurations is not asked again before the next sweep.
      more = registrations.length === batchSize && newOnes.length > 0;
    }
  };

  const adoptDue = async (): Promise<void> => {
    try {
      await adoptAll();
      failures = 0;
    } catch (error) {
      if (stopController.signal.aborted) return;
      failures += 1;
      if (failures === 1) logger.warn({ err: error }, "push configurations of other processes could not be looked for");
    }
    if (!stopController.signal.aborted) cancel = clock.after(everyMs, () => void adoptDue());
  };

  // One turn of the event loop later: by then the instance has requested its row.
  const first = setImmediate(() => void adoptDue());

  return {
    stop() {
      clearImmediate(first);
      cancel();
      stopController.abort();
    },
    async release(ms) {
      const late = new AbortController();
      const cancelLate = clock.after(ms, () => late.abort(new Error(`the store did not answer within ${ms} ms`)));
      try {
        await unlessAborted(store.release(agentId, instance), late.signal);
      } catch (error) {
        logger.warn({ err: error }, "push configurations could not be left to other processes");
      }
      cancelLate();
    },
  };
}
