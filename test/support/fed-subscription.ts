import type { StreamItem } from "../../src/protocol/operations.js";

/** A subscription that a test feeds by hand and that records how it was closed. */
export function fedSubscription() {
  const leaving = Promise.withResolvers<void>();
  const returning = Promise.withResolvers<void>();
  let wake = Promise.withResolvers<void>();
  const queue: StreamItem[] = [];
  let pulledCount = 0;
  return {
    left: leaving.promise,
    returned: returning.promise,
    pulled: () => pulledCount,
    push(...items: StreamItem[]) {
      queue.push(...items);
      wake.resolve();
    },
    subscribeToTask(_: unknown, context: { readonly signal: AbortSignal }): AsyncIterable<StreamItem> {
      context.signal.addEventListener("abort", () => {
        leaving.resolve();
        wake.resolve();
      });
      return (async function* () {
        try {
          while (!context.signal.aborted) {
            for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
              pulledCount += 1;
              yield item;
            }
            wake = Promise.withResolvers();
            await wake.promise;
          }
        } finally {
          returning.resolve();
        }
      })();
    },
  };
}
