import { monotonic } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import type { Head, StoredTask } from "../ports.js";
import type { Runtime } from "../runtime.js";
import { isAnswer } from "../store-failure.js";
import { freeGivenUp } from "./abandoned-sends.js";
import { isGone, isOrphan } from "./claim-turn.js";
import { expireWaiting } from "./expire.js";
import { giveUpHeld } from "./held.js";
import { takeOver } from "./take-over.js";
import { wakeDue } from "./wake.js";

/** Page size of a sweep for orphans. */
const orphanPage = 100;
/** Pause between two sweeps for tasks that have waited for too long. */
const expiryPauseMs = 60_000;

/**
 * This process's lease on the tasks it runs: one row in the store, renewed by a heartbeat that nothing else may delay.
 * The heartbeat also takes over orphaned tasks and wakes due ones.
 */
export interface Instance {
  /** Starts no more work by itself, and keeps what it holds. */
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
  let nextExpiry = monotonic(clock);

  const beat = async (): Promise<void> => {
    try {
      await lease.renew();
      if (!orphans.stopped) sweeping ??= sweep();
    } catch (error) {
      logger.warn({ err: error }, "the heartbeat failed");
      if (lease.lapsedMs >= limits.instanceTtlMs) giveUpHeld(runtime);
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
      if (monotonic(clock) < nextExpiry) return;
      nextExpiry = monotonic(clock) + expiryPauseMs;
      await expireWaiting(runtime);
    } catch (error) {
      logger.warn({ err: error }, "abandoned tasks could not be taken over: the next heartbeat tries again");
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
        .catch((error: unknown) => logger.warn({ err: error }, "the instance could not be retired"));
    },
  };
}

interface OrphanSweep {
  /** Key of the task at which the last sweep failed. */
  behind: number | undefined;
  stopped: boolean;
}

// Tasks whose holder has expired. A task that cannot be taken over blocks the sweep only once; the next sweep starts
// after it.
async function sweepOrphans(runtime: Runtime, sweep: OrphanSweep): Promise<void> {
  const { store, agentId } = runtime;
  for (let heads: readonly Head[] | undefined; heads === undefined || heads.length === orphanPage; ) {
    heads = await store.orphans(agentId, orphanPage, sweep.behind);
    if (heads.length > 0 && !(await isGone(runtime))) return;
    for (const { key, scope, id } of heads) {
      if (sweep.stopped) return;
      sweep.behind = key;
      const stored = await store.read(scope, id);
      if (stored !== undefined) await takeOrphan(runtime, stored);
    }
  }
  sweep.behind = undefined;
}

// An orphan for which this process has no room is left to others, or to the next sweep.
async function takeOrphan(runtime: Runtime, stored: StoredTask): Promise<void> {
  if (!(await isOrphan(runtime, stored))) return;
  try {
    await takeOver(runtime, stored);
  } catch (error) {
    if (!isAnswer(error)) throw error;
  }
}

// Tasks that this process abandoned when the store failed. No other process may end them while this one lives. Their
// last write may still arrive late, so they are checked for as long as the store may lag.
async function sweepLost(runtime: Runtime): Promise<void> {
  const { clock, limits, lost, store } = runtime;
  for (const [id, { scope, since, open }] of lost) {
    const over = !open && monotonic(clock) - since > limits.instanceTtlMs;
    const stored = await store.read(scope, id);
    if (stored !== undefined && (await isOrphan(runtime, stored))) await takeOrphan(runtime, stored);
    else if (over) lost.delete(id);
  }
}
