import { type DescMessage, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertFewFields } from "../../../src/protocol/codec/binary/field-count.js";
import { readBinary } from "../../../src/protocol/codec/binary/reader.js";
import { JsonValueCounter } from "../../../src/protocol/codec/value-count.js";
import { MessageSchema, PartSchema } from "../../../src/protocol/model.js";
import { data } from "../../../src/protocol/parts.js";

const encoder = new TextEncoder();

/** How many values and names of members a JSON value is made of. */
function valuesOf(json: unknown): number {
  if (typeof json !== "object" || json === null) return 1;
  const names = Array.isArray(json) ? 0 : Object.keys(json).length;
  return Object.values(json).reduce<number>((sum, each) => sum + valuesOf(each), 1 + names);
}

function isRefused(text: string, maxValues: number, cut: number): boolean {
  const counter = new JsonValueCounter(maxValues);
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length; at += cut) counter.add(bytes.subarray(at, at + cut));
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: "contentTooLarge", metadata: { limit: "jsonMaxValues" } });
    return true;
  }
}

describe("the values of a JSON body", () => {
  it("the values of a JSON body are counted alike however the bytes are cut, and few are never refused", () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 1, max: 9 }), (text, cut) => {
        const count = valuesOf(JSON.parse(text));
        // Containers that are empty count twice.
        expect(isRefused(text, 2 * count + 1, cut)).toBe(false);
        const few = Math.ceil(count / 4);
        expect(isRefused(text, few, cut)).toBe(isRefused(text, few, text.length));
      }),
    );
  });

  it.each([
    ["a list", `[${"0,".repeat(99)}0]`, 101],
    ["an object", `{${Array.from({ length: 100 }, (_, n) => `"k${n}":1`).join(",")}}`, 201],
    ["objects in a list", `[${'{"a":[]},'.repeat(49)}{}]`, 199],
    ["commas, brackets and quotes in strings", JSON.stringify(Array(10).fill('a,[{\\",,,,')), 11],
  ])("the values of a JSON body are counted: %s", (_, text, count) => {
    for (const cut of [1, 2, 3, 7, text.length]) {
      expect(isRefused(text, count - 1, cut)).toBe(text.length >= 2 * (count - 1));
      expect(isRefused(text, count, cut)).toBe(false);
    }
  });
});

/** One field of a message, with its tag and length. */
function field(number: number, ...content: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(content);
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, rest]), bytes]);
}

function times(count: number, bytes: Uint8Array): Buffer {
  return Buffer.concat(Array<Uint8Array>(count).fill(bytes));
}

describe("the values of a binary message", () => {
  const part = data(Array(50).fill(0));
  const bytes = toBinary(PartSchema, part);

  it("the values of a binary message are refused beyond the limit while they are read", () => {
    expect(() => readBinary(PartSchema, bytes, { maxValues: 51 })).not.toThrow();
    expect(() => readBinary(PartSchema, bytes, { maxValues: 50 })).toThrow(
      "more than 50 JSON values and names (jsonMaxValues)",
    );
  });

  it("the values of a binary message are refused also when the fast reader leaves the message to protobuf-es", () => {
    // An unknown field in front.
    const odd = Buffer.concat([Buffer.from([0xf8, 0x3f, 1]), bytes]);
    expect(() => readBinary(PartSchema, odd, { maxValues: 52 })).not.toThrow();
    expect(() => readBinary(PartSchema, odd, { maxValues: 51 })).toThrow(
      "more than 51 JSON values and names (jsonMaxValues)",
    );
  });

  const isRefusedBeyond = (desc: DescMessage, message: Uint8Array, count: number): void => {
    expect(() => assertFewFields(desc, message, count)).not.toThrow();
    expect(() => assertFewFields(desc, message, count - 1)).toThrow(`more than ${count - 1} JSON values`);
  };

  it.each([
    ["parts", 5],
    ["extensions", 7],
    ["unknown fields", 15],
  ])("the values of a binary message are also %s, which take two bytes each", (_, number) => {
    isRefusedBeyond(MessageSchema, times(1000, field(number)), 1000);
  });

  it("the values of a binary message are counted as they are for JSON", () => {
    const json = { a: [1, "two", null, { b: true }], c: {}, d: [] };
    isRefusedBeyond(PartSchema, toBinary(PartSchema, data(json)), valuesOf(json));
  });

  it("the values of a binary message count all that came before for a message that is merged with it", () => {
    const entry = field(1, field(1, Buffer.from("k")), field(2, Buffer.from([0x20, 1])));
    const metadata = field(6, times(100, entry));
    isRefusedBeyond(MessageSchema, metadata, 201);
    isRefusedBeyond(MessageSchema, Buffer.concat([metadata, field(6)]), 404);
    const rest = times(20, field(6));
    expect(() => readBinary(MessageSchema, Buffer.concat([metadata, rest]), { maxValues: 100_000 })).toThrow(
      "100000 JSON",
    );
  });

  it("the values of a binary message are found behind wire types that decoders ignore, but not within groups", () => {
    // The tag of a part says varint; its bytes begin like a long text of the message.
    const hidden = Buffer.concat([Buffer.from([0x0a, 0x02]), Buffer.from("ab"), times(50, field(15))]);
    isRefusedBeyond(MessageSchema, Buffer.concat([Buffer.from([5 << 3, hidden.length]), hidden]), 51);
    const group = Buffer.concat([Buffer.from([(15 << 3) | 3]), times(50, field(5)), Buffer.from([(15 << 3) | 4])]);
    isRefusedBeyond(MessageSchema, Buffer.concat([group, field(5)]), 2);
  });

  it("the values of a binary message are counted in any bytes without a failure", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (any) => {
        expect(() => assertFewFields(MessageSchema, any, 1e6)).not.toThrow();
      }),
    );
  });
});
