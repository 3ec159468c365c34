import type { StreamResponse } from "../protocol/model.js";
import type { StreamItem } from "../protocol/operations.js";

/**
 * Remembers what an encoder made of an event, so that it is encoded once however many streams read it. The result is
 * kept on the stream item, under a symbol that nothing else sees, and goes with it: the core gives the same item to all
 * readers that keep up, and forgets it soon after. A response must not be changed once it has been handed to a stream.
 */
export function encodeOnce<T extends object | string>(
  encode: (response: StreamResponse) => T,
): (item: StreamItem) => T {
  const slot = Symbol("encoded");
  return (item) => {
    const kept: StreamItem & { [slot]?: T } = item;
    kept[slot] ??= encode(item.response);
    return kept[slot];
  };
}
