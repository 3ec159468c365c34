import { monotonic } from "../protocol/async/clock.js";
import type { AgentFigures, ParkedCount } from "../protocol/telemetry/follow.js";
import type { Runtime } from "./runtime.js";
import { inStoreTime } from "./store-failure.js";

/** Counts what a handler has at the moment. */
export function figuresOf({ turns, watch, live }: Pick<Runtime, "turns" | "watch" | "live">): AgentFigures {
  const inboxes = [...turns.running.keys()].map(({ inbox }) => inbox);
  const waiting = inboxes.filter(({ isWaiting }) => isWaiting).length;
  let streamLag = 0;
  for (const { taskId, position } of watch.watchers) {
    const stored = live.get(taskId)?.stored ?? 0;
    if (position !== undefined) streamLag = Math.max(streamLag, stored - position);
  }
  const inbox = inboxes.reduce((sum, { messages }) => sum + messages, 0);
  return { running: inboxes.length - waiting, queued: turns.queued, waiting, inbox, streamLag };
}

/** A count of parked tasks holds for this long, in milliseconds. */
const countMs = 10_000;
/** Counting takes at most one hundredth of the time: a million parked tasks take a store 50 to 100 ms. */
const pausesPerCount = 100;

/**
 * Counts parked tasks when it is called, or gives the last count while that holds. A store that does not answer within
 * `storeWaitMs` gives none, and its late answer is the next one.
 */
export function countParked(runtime: Runtime): () => Promise<ParkedCount | undefined> {
  const { store, agentId, clock } = runtime;
  let last: { readonly count: ParkedCount; readonly until: number } | undefined;
  let counting: Promise<ParkedCount> | undefined;
  const count = async (): Promise<ParkedCount> => {
    const begun = monotonic(clock);
    try {
      const counted = await store.parked(agentId);
      const now = monotonic(clock);
      last = { count: counted, until: now + Math.max(countMs, pausesPerCount * (now - begun)) };
      return counted;
    } finally {
      counting = undefined;
    }
  };
  return async () => {
    if (last !== undefined && monotonic(clock) < last.until) return last.count;
    counting ??= count();
    // The store's failure is logged where the store is guarded.
    return inStoreTime(runtime, counting).catch(() => undefined);
  };
}
