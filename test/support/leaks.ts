import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";

/** Number of handles that keep this process alive, by kind. */
export type Handles = Readonly<Record<string, number>>;

/** Sockets, connects, servers, timers and name lookups. Short-lived requests are not counted. */
const handleTypes = /^(?:TCP|TLS|Pipe|HTTP2|GetAddrInfo|QueryWrap|Timeout)/;
// The test runner's own timers come and go within this time.
const patienceDefaultMs = 2_000;

/**
 * Counts the handles open in this process. Handles that do not keep it alive are not included, such as idle keep-alive
 * connections of `fetch`.
 */
export function openHandles(): Handles {
  const handles: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    if (handleTypes.test(kind)) handles[kind] = (handles[kind] ?? 0) + 1;
  }
  return handles;
}

/** Handles opened since `before`, once those about to close are closed; `{}` if there are none. */
export async function leftOpen(before: Handles, patienceMs = patienceDefaultMs): Promise<Handles> {
  for (const start = performance.now(); ; ) {
    const more = Object.entries(openHandles())
      .map(([kind, count]) => [kind, count - (before[kind] ?? 0)] as const)
      .filter(([, count]) => count > 0);
    if (more.length === 0 || performance.now() - start > patienceMs) return Object.fromEntries(more);
    await setImmediate();
  }
}

/** Number of listeners on an abort signal. */
export function listenersOn(signal: AbortSignal): number {
  return getEventListeners(signal, "abort").length;
}
