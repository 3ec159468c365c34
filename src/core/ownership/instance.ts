import { noop } from "../../protocol/async/noop.js";
import type { Head, StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { isAnswer } from "../store-failure.js";
import { freeGivenUp } from "./abandoned-sends.js";
import { isOrphan } from "./claim-turn.js";
import { takeOver } from "./take-over.js";
import { wakeDue } from "./wake.js";

/** How many orphans are asked for at once. */
const orphanPage = 100;

/**
 * This process's claim on the tasks it runs: one row in the store, renewed by a heartbeat, whatever else is slow. Along
 * with it abandoned tasks are taken over, so that none stays at work without a running turn, and
 * parked ones are woken.
 */
export interface Instance {
  /** Starts nothing of its own accord any more; what it has it keeps. */
  rest(): void;
  stop(): Promise<void>;
}

export function startInstance(runtime: Runtime): Instance {
  const { clock, limits, store, instance, lease, logger, turns } = runtime;
  const orphans: OrphanSweep = { behind: undefined, stopped: false };
  let stopped = false;
  let cancel = noop;
  let beating: Promise<void> = Promise.resolve();
  let sweeping: Promise<void> | undefined;

  const beat = async (): Promise<void> => {
    try {
      await lease.renew();
      if (!orphans.stopped) sweeping ??= sweep();
    } catch (error) {
      logger.warn({ error }, "the heartbeat failed");
    }
    if (!stopped) cancel = clock.after(limits.heartbeatMs, next);
  };
  const sweep = async (): Promise<void> => {
    const swept = turns.expect();
    try {
      await sweepOrphans(runtime, orphans);
      await sweepLost(runtime);
      await wakeDue(runtime);
      await freeGivenUp(runtime);
    } catch (error) {
      logger.warn({ error }, "abandoned tasks could not be taken over: the next heartbeat tries again");
    } finally {
      sweeping = undefined;
      swept();
    }
  };
  const next = (): void => {
    beating = beat();
  };
  next();
  const rest = (): void => {
    orphans.stopped = true;
  };
  return {
    rest,
    async stop() {
      rest();
      stopped = true;
      cancel();
      await beating;
      cancel();
      await sweeping;
      await store
        .retire(instance)
        .catch((error: unknown) => logger.warn({ error }, "the instance could not be retired"));
    },
  };
}

interface OrphanSweep {
  /** Key of the task at which the last sweep has failed. */
  behind: number | undefined;
  stopped: boolean;
}

// Tasks whose holder has expired. One that cannot be taken over holds up the others once: then they are behind it.
async function sweepOrphans(runtime: Runtime, sweep: OrphanSweep): Promise<void> {
  const { store, agentId } = runtime;
  for (let heads: readonly Head[] | undefined; heads === undefined || heads.length === orphanPage; ) {
    heads = await store.orphans(agentId, orphanPage, sweep.behind);
    for (const { key, scope, id } of heads) {
      if (sweep.stopped) return;
      sweep.behind = key;
      const stored = await store.read(scope, id);
      if (stored !== undefined) await takeOrphan(runtime, stored);
    }
  }
  sweep.behind = undefined;
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

// Tasks that this process gave up when the store failed: no other process may end them while it lives. A write of theirs may
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
