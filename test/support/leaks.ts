import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";

/** Counts of what keeps this process alive, by its kind. */
export type Handles = Readonly<Record<string, number>>;

/** Sockets and their connecting, servers, timers, name lookups. What only runs for a moment is not counted. */
const counted = /^(?:TCP|TLS|Pipe|HTTP2|GetAddrInfo|QueryWrap|Timeout)/;
// The timers of the test runner itself come and go within this time.
const patienceDefaultMs = 2_000;

/** What is open now in this process. Handles that do not keep it alive are not seen: kept connections of `fetch` at rest. */
export function openHandles(): Handles {
  const handles: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    if (counted.test(kind)) handles[kind] = (handles[kind] ?? 0) + 1;
  }
  return handles;
}

/** What is open more than before, once what is about to close has closed; `{}` when nothing is. */
export async function leftOpen(before: Handles, patienceMs = patienceDefaultMs): Promise<Handles> {
  for (const start = performance.now(); ; ) {
    const more = Object.entries(openHandles())
      .map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const)
      .filter(([, count]) => count > 0);
    if (more.length === 0 || performance.now() - start > patienceMs) return Object.fromEntries(more);
    await setImmediate();
  }
}

/** How many listeners wait for a signal to abort. */
export function listenersOn(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}
