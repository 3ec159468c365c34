import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { perMessageType } from "../outline/dynamic.js";
import { tooManyValues } from "../value-count.js";

// Measures a binary message before it is decoded. A decoder makes an object of two bytes, and copies a whole Struct for
// each field of two bytes that is merged into it.

/**
 * Throws `contentTooLarge` for a message with more values than this. Values are messages, entries of lists and maps,
 * names in maps, and unknown fields; in free JSON, the values and names of the JSON. A message that is merged into an
 * earlier one counts as much as all values before it.
 */
export function assertFewFields(desc: DescMessage, bytes: Uint8Array, maxValues: number): void {
  new FieldCounter(bytes, maxValues).message(findShape(desc), bytes.length, 1);
}

/** The fields of a message by their numbers. */
interface Shape {
  /** Whether known fields may count. */
  readonly isCounted: boolean;
  readonly fields: ReadonlyMap<number, FieldShape>;
}

/** How the decoder reads a field, whatever wire type its tag has. */
interface FieldShape {
  /** False for a single text or number, which replaces an earlier one and takes no more room. */
  readonly isCounted: boolean;
  /** Whether it is a message, which is merged into an earlier one. */
  readonly isMerged: boolean;
  /** The wire type, or the message. */
  readonly content: number | (() => Shape);
}

const valueName = "google.protobuf.Value";

const findShape = perMessageType((desc): Shape => {
  const fields = new Map(desc.fields.map((field) => [field.number, fieldShape(field)]));
  return { isCounted: desc.typeName !== valueName, fields };
});

function fieldShape(field: DescField): FieldShape {
  if (field.fieldKind === "map") return { isCounted: true, isMerged: false, content: () => entryShape(field) };
  const { message, scalar, fieldKind } = field;
  if (message !== undefined) {
    return { isCounted: true, isMerged: fieldKind === "message", content: () => findShape(message) };
  }
  const content = scalar === undefined ? varintType : findWireType(scalar);
  return { isCounted: fieldKind === "list", isMerged: false, content };
}

function findWireType(scalar: ScalarType): number {
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return lengthType;
  return scalar === ScalarType.DOUBLE ? fixed64Type : varintType;
}

function entryShape({ message }: DescField): Shape {
  const key: FieldShape = { isCounted: true, isMerged: false, content: lengthType };
  // The entry itself counts as its value.
  const content = message === undefined ? lengthType : () => findShape(message);
  const value: FieldShape = { isCounted: false, isMerged: false, content };
  const fields = new Map([key, value].map((field, index) => [index + 1, field]));
  return { isCounted: true, fields };
}

/** Deeper messages are refused by every decoder. */
const maxDepth = 1_000;
const [varintType, fixed64Type, lengthType, groupType, fixed32Type] = [0, 1, 2, 3, 5] as const;

class FieldCounter {
  readonly #bytes: Uint8Array;
  readonly #maxValues: number;
  #at = 0;
  #values = 0;

  constructor(bytes: Uint8Array, maxValues: number) {
    this.#bytes = bytes;
    this.#maxValues = maxValues;
  }

  /** Counts the fields of a message up to `end`. Bytes that are no message end the count: the decoder refuses them. */
  message({ isCounted, fields }: Shape, end: number, depth: number): void {
    const before = this.#values;
    let seenBits = 0;
    while (this.#at < end) {
      const tag = this.#uint32();
      const field = fields.get(tag >>> 3);
      if (field === undefined || (isCounted && field.isCounted)) this.#count(1);
      if (field?.isMerged === true) {
        // Numbers from 32 on share a bit; then a field counts too much.
        const bit = 1 << (tag >>> 3);
        if ((seenBits & bit) !== 0) this.#count(this.#values - before);
        seenBits |= bit;
      }
      this.#content(field?.content ?? tag & 7, depth);
    }
  }

  #content(content: FieldShape["content"], depth: number): void {
    if (typeof content === "number") return this.#skip(content);
    const end = this.#end();
    if (depth === maxDepth) this.#at = end;
    else this.message(content(), end, depth + 1);
  }

  #count(values: number): void {
    this.#values += values;
    if (this.#values > this.#maxValues) throw tooManyValues(this.#maxValues);
  }

  /** Skips a field by its wire type; a group is skipped as a whole. */
  #skip(wireType: number): void {
    let open = this.#skipOne(wireType);
    while (open > 0 && this.#at < this.#bytes.length) open += this.#skipOne(this.#uint32() & 7);
    if (open < 0) this.#at = this.#bytes.length;
  }

  /** Skips what follows a tag. Returns 1 for the start of a group and -1 for its end. */
  #skipOne(wireType: number): number {
    if (wireType === groupType) return 1;
    if (wireType === varintType) this.#uint32();
    else if (wireType === fixed64Type) this.#at += 8;
    else if (wireType === fixed32Type) this.#at += 4;
    else if (wireType === lengthType) this.#at = this.#end();
    else return -1;
    return 0;
  }

  /** Reads a length and returns the end of its field. */
  #end(): number {
    const length = this.#uint32();
    return Math.min(this.#at + length, this.#bytes.length);
  }

  /** The low 32 bits of a varint, as decoders read tags and lengths. */
  #uint32(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.#at++];
      // The end of the bytes, or no varint.
      if (byte === undefined || shift > 63) {
        this.#at = this.#bytes.length;
        return 0;
      }
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }
}
