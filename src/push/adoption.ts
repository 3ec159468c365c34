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

const adoptedAtOnce = 100;

export function startAdoption(options: AdoptionOptions): Adoption {
  const { store, clock, logger, agentId, instance, everyMs, take } = options;
  const stopped = new AbortController();
  let cancel = noop;
  let failures = 0;

  const adoptAll = async (): Promise<void> => {
    // The answer to an adoption may have been lost: its configurations are released and adopted again.
    if (failures > 0) await unlessAborted(store.release(agentId, instance), stopped.signal);
    for (let more = true; more && !stopped.signal.aborted; ) {
      const adopted = await unlessAborted(store.adopt(agentId, instance, adoptedAtOnce), stopped.signal);
      const fresh = adopted.filter(take);
      // What a store returns twice is not requested again before the next sweep.
      more = adopted.length === adoptedAtOnce && fresh.length > 0;
    }
  };

  const look = async (): Promise<void> => {
    try {
      await adoptAll();
      failures = 0;
    } catch (error) {
      if (stopped.signal.aborted) return;
      failures += 1;
      if (failures === 1) logger.warn({ err: error }, "push configurations of other processes could not be looked for");
    }
    if (!stopped.signal.aborted) cancel = clock.after(everyMs, () => void look());
  };

  // One turn of the event loop later: by then the instance has requested its row.
  const first = setImmediate(() => void look());

  return {
    stop() {
      clearImmediate(first);
      cancel();
      stopped.abort();
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
