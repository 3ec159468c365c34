import type { StreamResponse } from "../protocol/model.js";
import type { StreamItem } from "../protocol/operations.js";

/**
 * Caches the encoded form of an event, so that it is encoded once for all streams. The result is stored on the stream
 * item under a private symbol, and is dropped with it. The core gives the same item to all readers that keep up. Do not
 * change a response after handing it to a stream.
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
