import { isMessage } from "@bufbuild/protobuf";
import { A2AError } from "../errors.js";
import { keptJsonOf } from "./json/compact-value.js";

const [quote, backslash, comma, openBrace, openBracket] = [0x22, 0x5c, 0x2c, 0x7b, 0x5b];

/** Whether a JSON body of this many bytes cannot hold more values than this: each takes a byte, and one before the next. */
export function isTooShort(bytes: number, maxValues: number): boolean {
  return bytes < 2 * maxValues;
}

/**
 * Counts the values of a JSON body while its bytes arrive, so that a body of too many is never parsed: as objects they
 * take up to a hundred times their bytes. `arrived` takes each piece.
 */
export class JsonValueCounter {
  readonly #maxValues: number;
  /** The pieces of a body that is still too short to hold so many values: it is not read twice. */
  #early: Uint8Array[] | undefined;
  #bytes = 0;
  #values = 1;
  #inString = false;
  #escaped = false;

  constructor(maxValues: number) {
    this.#maxValues = maxValues;
  }

  /** Throws `contentTooLarge` when there are too many values. */
  arrived(piece: Uint8Array): void {
    this.#bytes += piece.length;
    if (isTooShort(this.#bytes, this.#maxValues)) {
      this.#early ??= [];
      this.#early.push(piece);
      return;
    }
    for (const each of this.#early ?? []) this.#count(each);
    this.#early = undefined;
    this.#count(piece);
    if (this.#values > this.#maxValues) throw tooManyValues(this.#maxValues);
  }

  #count(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; ) at = this.#inString ? this.#skipString(piece, at) : this.#skipRest(piece, at);
  }

  /** Skips the rest of a string and returns the position after it. */
  #skipString(piece: Uint8Array, from: number): number {
    let at = this.#escaped ? from + 1 : from;
    this.#escaped = false;
    for (; at < piece.length; at++) {
      if (piece[at] === backslash) at++;
      else if (piece[at] === quote) {
        this.#inString = false;
        return at + 1;
      }
    }
    this.#escaped = at > piece.length;
    return at;
  }

  /** Counts up to the next string and returns the position inside it. */
  #skipRest(piece: Uint8Array, from: number): number {
    let at = from;
    let values = 0;
    for (; at < piece.length; at++) {
      const byte = piece[at];
      if (byte === quote) break;
      // Behind each of these there is at most one value.
      if (byte === comma || byte === openBrace || byte === openBracket) values++;
    }
    this.#values += values;
    this.#inString = at < piece.length;
    return at + 1;
  }
}

/** The fewest bytes of a Value in a binary message. */
const leastValueBytes = 4;

/** Whether a binary message of this size may hold more free JSON than this. */
export function mayHoldMore(bytes: number, maxValues: number): boolean {
  return bytes > leastValueBytes * maxValues;
}

/** Throws `contentTooLarge` for a message with more values of free JSON than this, in whichever form it holds them. */
export function assertFewValues(message: object, maxValues: number): void {
  let left = maxValues;
  countValues(message, () => {
    left -= 1;
    if (left < 0) throw tooManyValues(maxValues);
  });
}

function countValues(node: unknown, count: () => void): void {
  if (typeof node !== "object" || node === null || node instanceof Uint8Array) return;
  const kept = keptJsonOf(node);
  if (kept !== undefined) countJson(kept, count);
  else if (isOneof(node)) countValues(node.value, count);
  else if (holdsMessages(node)) {
    if (isValue(node)) count();
    for (const [name, each] of Object.entries(node)) if (name !== "$unknown") countValues(each, count);
  } else countJson(node, count);
}

function countJson(json: unknown, count: () => void): void {
  count();
  if (typeof json === "object" && json !== null) for (const each of Object.values(json)) countJson(each, count);
}

/** Whether this is the content of a oneof, set or not, and no free JSON. */
function isOneof(node: object): node is { readonly value?: unknown } {
  return "case" in node && (node.case === undefined || ("value" in node && typeof node.case === "string"));
}

/** Whether this is a message, a list, or a map of messages such as the members of a Struct. */
function holdsMessages(node: object): boolean {
  return isMessage(node) || Array.isArray(node) || isMessage(Object.values(node)[0]);
}

function isValue(node: object): boolean {
  return "$typeName" in node && node.$typeName === "google.protobuf.Value";
}

export function tooManyValues(maxValues: number): A2AError {
  return new A2AError("contentTooLarge", `the request has more than ${maxValues} JSON values (jsonMaxValues)`, {
    metadata: { limit: "jsonMaxValues", jsonMaxValues: String(maxValues) },
  });
}
