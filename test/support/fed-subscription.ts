import type { StreamItem } from "../../src/protocol/operations.js";

/** A subscription that a test feeds by hand and that records how it was closed. */
export function fedSubscription() {
  const left = Promise.withResolvers<void>();
  const returned = Promise.withResolvers<void>();
  let wake = Promise.withResolvers<void>();
  const waiting: StreamItem[] = [];
  let pulled = 0;
  return {
    left: left.promise,
    returned: returned.promise,
    pulled: () => pulled,
    push(...items: StreamItem[]) {
      waiting.push(...items);
      wake.resolve();
    },
    subscribeToTask(_: unknown, context: { readonly signal: AbortSignal }): AsyncIterable<StreamItem> {
      context.signal.addEventListener("abort", () => {
        left.resolve();
        wake.resolve();
      });
      return (async function* () {
        try {
          while (!context.signal.aborted) {
            for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
              pulled += 1;
              yield item;
            }
            wake = Promise.withResolvers();
            await wake.promise;
          }
        } finally {
          returned.resolve();
        }
      })();
    },
  };
}
