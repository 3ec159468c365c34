import type { StreamResponse } from "../protocol/model.js";
import type { StreamItem } from "../protocol/operations.js";

/**
 * Remembers what an encoder made of an event, so that it is encoded once however many streams read it. The result is
 * kept on the response itself, under a symbol that nothing else sees, and goes with it. So a response must not be
 * changed once it has been handed to a stream.
 */
export function encodeOnce<T extends object | string>(
  encode: (response: StreamResponse) => T,
): (item: StreamItem) => T {
  const slot = Symbol("encoded");
  return ({ response }) => {
    const kept: StreamResponse & { [slot]?: T } = response;
    kept[slot] ??= encode(response);
    return kept[slot];
  };
}
