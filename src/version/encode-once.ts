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

/** The text of events, encoded once for all streams. */
export interface EventTexts {
  text(item: StreamItem): string;
  /** The text of a large event in pieces, each made when the first stream asks for it. */
  pieces(item: StreamItem): Iterable<string>;
}

/** Caches the text of events as `encodeOnce` does. `piecesOf` gives the text that `encode` makes in pieces. */
export function encodeTextOnce(
  encode: (response: StreamResponse) => string,
  piecesOf: (response: StreamResponse) => Iterator<string, unknown>,
): EventTexts {
  const inPieces = encodeOnce((response) => ({ made: [] as string[], rest: piecesOf(response) }));
  return {
    text: encodeOnce(encode),
    *pieces(item) {
      const { made, rest } = inPieces(item);
      for (let index = 0; ; index++) {
        if (index === made.length) {
          const { done, value } = rest.next();
          if (done === true) return;
          made.push(value);
        }
        yield made[index] ?? "";
      }
    },
  };
}
