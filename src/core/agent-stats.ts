import { monotonic } from "../protocol/async/clock.js";
import type { AgentStats, ParkedCount } from "../protocol/telemetry/follow.js";
import type { Runtime } from "./runtime.js";
import { waitForStore } from "./store-failure.js";

/** Counts what a handler has at the moment. */
export function agentStats({ turns, watch, live }: Runtime): AgentStats {
  const inboxes = [...turns.running].map(({ inbox }) => inbox);
  const waitingCount = inboxes.filter(({ isWaiting }) => isWaiting).length;
  let streamLag = 0;
  for (const { taskId, position } of watch.watchers) {
    const storedSeq = live.get(taskId)?.storedSeq ?? 0;
    if (position !== undefined) streamLag = Math.max(streamLag, storedSeq - position);
  }
  const inbox = inboxes.reduce((sum, { messages }) => sum + messages, 0);
  return { running: inboxes.length - waitingCount, queued: turns.queued, waiting: waitingCount, inbox, streamLag };
}

/** How long a count of parked tasks is reused, in milliseconds. */
const countMs = 10_000;
/** Counting takes at most one hundredth of the time: a million parked tasks take a store 50 to 100 ms. */
const pausesPerCount = 100;

/**
 * Returns a function that counts parked tasks, or returns the last count while that is fresh. Without an answer of the
 * store within `storeWaitMs` it returns `undefined`, and the late answer serves the next call.
 */
export function countParked(runtime: Runtime): () => Promise<ParkedCount | undefined> {
  const { agentId, clock } = runtime;
  // A long count continues after its caller has stopped waiting.
  const store = runtime.storeFor("sweep");
  let last: { readonly count: ParkedCount; readonly until: number } | undefined;
  let counting: Promise<ParkedCount> | undefined;
  const count = async (): Promise<ParkedCount> => {
    const startedAt = monotonic(clock);
    try {
      const parked = await store.parked(agentId);
      const now = monotonic(clock);
      last = { count: parked, until: now + Math.max(countMs, pausesPerCount * (now - startedAt)) };
      return parked;
    } finally {
      counting = undefined;
    }
  };
  return async () => {
    if (last !== undefined && monotonic(clock) < last.until) return last.count;
    counting ??= count();
    // The store's failure is logged where the store is guarded.
    return waitForStore(runtime, counting).catch(() => undefined);
  };
}
