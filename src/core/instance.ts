import { takeOver } from "./claim.js";
import type { Runtime } from "./runtime.js";

const orphansAtOnce = 100;

/**
 * This process's claim on the tasks it runs: one row in the store, renewed by a heartbeat. Along with it tasks are
 * ended whose holder has expired, so that no task stays at work with nobody behind it.
 */
export interface Instance {
  stop(): Promise<void>;
}

export function startInstance(runtime: Runtime): Instance {
  const { clock, limits, store, instance, logger } = runtime;
  let cancel = (): void => {};
  let stopped = false;
  let beating: Promise<void> = Promise.resolve();

  const beat = async (): Promise<void> => {
    try {
      await store.renew(instance, limits.instanceTtlMs);
      await sweep(runtime);
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

async function sweep(runtime: Runtime): Promise<void> {
  for (const head of await runtime.store.orphans(orphansAtOnce)) {
    const stored = await runtime.store.read(head.scope, head.id);
    if (stored !== undefined && stored.head.epoch === head.epoch) await takeOver(runtime, stored);
  }
}
