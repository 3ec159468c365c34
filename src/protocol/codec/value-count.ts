import { A2AError } from "../errors.js";

const [quote, backslash, comma, colon, openBrace, openBracket] = [0x22, 0x5c, 0x2c, 0x3a, 0x7b, 0x5b];

/**
 * Whether a body of this many bytes cannot have more values than this. Each takes at least two bytes: in JSON one and a
 * separator.
 */
export function isTooShort(bytes: number, maxValues: number): boolean {
  return bytes < 2 * maxValues;
}

/**
 * Counts the values of a JSON body while its bytes arrive, so that a body with too many is never parsed: as objects
 * they take up to a hundred times their bytes. The name of a member counts as a value: a name that no other object has
 * costs more to read than a number.
 */
export class JsonValueCounter {
  readonly #maxValues: number;
  /** The pieces of a body that is still too short for so many values. They are counted once it is longer. */
  #earlyPieces: Uint8Array[] | undefined;
  #bytes = 0;
  #values = 1;
  #inString = false;
  #isEscaped = false;

  constructor(maxValues: number) {
    this.#maxValues = maxValues;
  }

  /** Counts the next piece of the body. Throws `contentTooLarge` when there are too many values. */
  add(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (isTooShort(this.#bytes, this.#maxValues)) {
      this.#earlyPieces ??= [];
      this.#earlyPieces.push(piece);
      return;
    }
    for (const each of this.#earlyPieces ?? []) this.#count(each);
    this.#earlyPieces = undefined;
    this.#count(piece);
    if (this.#values > this.#maxValues) throw tooManyValues(this.#maxValues);
  }

  #count(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; ) at = this.#inString ? this.#skipString(piece, at) : this.#skipRest(piece, at);
  }

  /** Skips the rest of a string and returns the position after it. */
  #skipString(piece: Uint8Array, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    this.#isEscaped = false;
    for (; at < piece.length; at++) {
      if (piece[at] === backslash) at++;
      else if (piece[at] === quote) {
        this.#inString = false;
        return at + 1;
      }
    }
    this.#isEscaped = at > piece.length;
    return at;
  }

  /** Counts up to the next string and returns the position inside it. */
  #skipRest(piece: Uint8Array, from: number): number {
    let at = from;
    let values = 0;
    for (; at < piece.length; at++) {
      const byte = piece[at];
      if (byte === quote) break;
      // Behind each of these there is at most one value, and before each colon there is a name.
      if (byte === comma || byte === colon || byte === openBrace || byte === openBracket) values++;
    }
    this.#values += values;
    this.#inString = at < piece.length;
    return at + 1;
  }
}

export function tooManyValues(maxValues: number): A2AError {
  return new A2AError(
    "contentTooLarge",
    `the request has more than ${maxValues} JSON values and names (jsonMaxValues)`,
    {
      metadata: { limit: "jsonMaxValues", jsonMaxValues: String(maxValues) },
    },
  );
}
