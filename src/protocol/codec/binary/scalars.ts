import { type DescField, ScalarType } from "@bufbuild/protobuf";
import { unsupportedInput } from "./input.js";
import type { Output } from "./output.js";

/** Writes a value: a message's content, or a field with its tag. */
export type Write = (output: Output, value: unknown) => void;

const varintType = 0;
const fixed64Type = 1;
export const lengthType = 2;

/** The tag before a value: its field number and wire type. */
export function makeTag(number: number, wireType: number): number {
  return ((number << 3) | wireType) >>> 0;
}

/** Writers by scalar type and field number, for values of the scalar's type in messages. */
export const scalarWriters: { readonly [scalar in ScalarType]?: (number: number) => Write } = {
  [ScalarType.STRING]: (number) => {
    const tag = makeTag(number, lengthType);
    return (output, value) => {
      if (typeof value !== "string") throw unsupportedInput;
      output.varint(tag);
      output.string(value);
    };
  },
  [ScalarType.BYTES]: (number) => {
    const tag = makeTag(number, lengthType);
    return (output, value) => {
      if (!(value instanceof Uint8Array)) throw unsupportedInput;
      output.varint(tag);
      output.data(value);
    };
  },
  [ScalarType.BOOL]: (number) => {
    const tag = makeTag(number, varintType);
    return (output, value) => {
      if (typeof value !== "boolean") throw unsupportedInput;
      output.varint(tag);
      output.varint(value ? 1 : 0);
    };
  },
  [ScalarType.INT32]: wholeWriter(2 ** 31 - 1),
  [ScalarType.UINT32]: wholeWriter(2 ** 32 - 1),
  [ScalarType.INT64]: longWriter,
  [ScalarType.UINT64]: longWriter,
  [ScalarType.DOUBLE]: (number) => {
    const tag = makeTag(number, fixed64Type);
    return (output, value) => {
      if (typeof value !== "number") throw unsupportedInput;
      output.varint(tag);
      output.double(value);
    };
  },
};

/** Negative numbers are left to toBinary, here and below. */
function wholeWriter(max: number): (number: number) => Write {
  return (number) => {
    const tag = makeTag(number, varintType);
    return (output, value) => {
      if (!Number.isInteger(value)) throw unsupportedInput;
      const integer = value as number;
      if (integer < 0 || integer > max) throw unsupportedInput;
      output.varint(tag);
      output.varint(integer);
    };
  };
}

function longWriter(number: number): Write {
  const tag = makeTag(number, varintType);
  return (output, value) => {
    const integer = typeof value === "bigint" ? Number(value) : -1;
    if (integer < 0 || integer > Number.MAX_SAFE_INTEGER) throw unsupportedInput;
    output.varint(tag);
    output.varint(integer);
  };
}

/** Whether a message field is written as a group, as proto2 does. */
export function isDelimited(field: DescField): boolean {
  return "delimitedEncoding" in field && field.delimitedEncoding === true;
}
