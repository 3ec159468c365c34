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
    const cachedItem: StreamItem & { [slot]?: T } = item;
    cachedItem[slot] ??= encode(item.response);
    return cachedItem[slot];
  };
}

/** The text of events, encoded once for all streams. */
export interface EventTexts {
  text(item: StreamItem): string;
  /** The text of a large event in pieces, each made when the first stream needs it. */
  pieces(item: StreamItem): Iterable<string>;
}

/** Caches the text of events like `encodeOnce`. `encodePieces` returns the text of `encode` in pieces. */
export function encodeTextOnce(
  encode: (response: StreamResponse) => string,
  encodePieces: (response: StreamResponse) => Iterator<string, unknown>,
): EventTexts {
  const findCache = encodeOnce((response) => ({ made: [] as string[], rest: encodePieces(response) }));
  return {
    text: encodeOnce(encode),
    *pieces(item) {
      const { made: texts, rest: iterator } = findCache(item);
      for (let index = 0; ; index++) {
        if (index === texts.length) {
          const { done, value } = iterator.next();
          if (done === true) return;
          texts.push(value);
        }
        yield texts[index] ?? "";
      }
    },
  };
}
