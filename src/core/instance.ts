import { isOrphan } from "./claim-turn.js";
import type { StoredTask } from "./ports.js";
import type { Runtime } from "./runtime.js";
import { freeGivenUp } from "./send-hold.js";
import { isAnswer } from "./store-failure.js";
import { takeOver } from "./take-over.js";
import { wakeDue } from "./wake.js";

const orphansAtOnce = 100;

/**
 * This process's claim on the tasks it runs: one row in the store, renewed by a heartbeat. Along with it tasks are taken
 * over that nobody works on any more, so that none stays at work with nobody behind it, and parked ones are woken.
 */
export interface Instance {
  stop(): Promise<void>;
}

export function startInstance(runtime: Runtime): Instance {
  const { clock, limits, store, instance, lease, logger } = runtime;
  let cancel = (): void => {};
  let stopped = false;
  let beating: Promise<void> = Promise.resolve();

  const beat = async (): Promise<void> => {
    try {
      await lease.renew();
      await sweepOrphans(runtime);
      await sweepLost(runtime);
      await wakeDue(runtime);
      await freeGivenUp(runtime);
    } catch (error) {
      logger.warn({ error }, "the heartbeat failed");
    }
    if (!stopped) cancel = clock.after(limits.heartbeatMs, next);
  };
  const next = (): void => {
    beating = beat();
  };
  next();
  return {
    async stop() {
      stopped = true;
      cancel();
      await beating;
      cancel();
      await store
        .retire(instance)
        .catch((error: unknown) => logger.warn({ error }, "the instance could not be retired"));
    },
  };
}

// Tasks whose holder has expired.
async function sweepOrphans(runtime: Runtime): Promise<void> {
  for (const head of await runtime.store.orphans(orphansAtOnce)) {
    const stored = await runtime.store.read(head.scope, head.id);
    if (stored !== undefined) await takeOrphan(runtime, stored);
  }
}

// One for which there is no room here is left to others, or to the next time.
async function takeOrphan(runtime: Runtime, stored: StoredTask): Promise<void> {
  if (!isOrphan(runtime, stored)) return;
  try {
    await takeOver(runtime, stored);
  } catch (error) {
    if (!isAnswer(error)) throw error;
  }
}

// Tasks that this process gave up when the store failed: nobody else may end them while it lives. A write of theirs may
// arrive late, so they are looked after for as long as the store may be behind.
async function sweepLost(runtime: Runtime): Promise<void> {
  const { clock, limits, lost, store } = runtime;
  for (const [id, { scope, since }] of lost) {
    const stored = await store.read(scope, id);
    const over = clock.now() - since > limits.instanceTtlMs;
    if (stored !== undefined && isOrphan(runtime, stored)) await takeOrphan(runtime, stored);
    else if (over) lost.delete(id);
  }
}
