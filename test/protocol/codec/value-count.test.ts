import { toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBinary } from "../../../src/protocol/codec/binary/reader.js";
import { compactValue } from "../../../src/protocol/codec/json/compact-value.js";
import { assertFewValues, JsonValueCounter } from "../../../src/protocol/codec/value-count.js";
import { PartSchema } from "../../../src/protocol/model.js";
import { data } from "../../../src/protocol/parts.js";

const encoder = new TextEncoder();

/** How many values a JSON value is made of. */
function valuesOf(json: unknown): number {
  if (typeof json !== "object" || json === null) return 1;
  return Object.values(json).reduce<number>((sum, each) => sum + valuesOf(each), 1);
}

function isRefused(text: string, maxValues: number, cut: number): boolean {
  const counter = new JsonValueCounter(maxValues);
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length; at += cut) counter.arrived(bytes.subarray(at, at + cut));
    return false;
  } catch (error) {
    expect(error).toMatchObject({ code: "contentTooLarge", metadata: { limit: "jsonMaxValues" } });
    return true;
  }
}

describe("the values of a JSON body", () => {
  it("are counted alike however the bytes are cut, and few are never refused", () => {
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
    ["an object", `{${Array.from({ length: 100 }, (_, n) => `"k${n}":1`).join(",")}}`, 101],
    ["objects in a list", `[${'{"a":[]},'.repeat(49)}{}]`, 150],
    ["commas, brackets and quotes in strings", JSON.stringify(Array(10).fill('a,[{\\",,,,')), 11],
  ])("are counted: %s", (_, text, count) => {
    for (const cut of [1, 2, 3, 7, text.length]) {
      expect(isRefused(text, count - 1, cut)).toBe(text.length >= 2 * (count - 1));
      expect(isRefused(text, count, cut)).toBe(false);
    }
  });
});

describe("the values of a binary message", () => {
  const part = data(Array(50).fill(0));
  const bytes = toBinary(PartSchema, part);

  it("are refused beyond the limit while they are read", () => {
    expect(() => readBinary(PartSchema, bytes, { maxValues: 51 })).not.toThrow();
    expect(() => readBinary(PartSchema, bytes, { maxValues: 50 })).toThrow("more than 50 JSON values (jsonMaxValues)");
  });

  it("are refused also in a message that the fast reader leaves to protobuf-es", () => {
    // An unknown field in front.
    const odd = Buffer.concat([Buffer.from([0xf8, 0x3f, 1]), bytes]);
    expect(() => readBinary(PartSchema, odd, { maxValues: 51 })).not.toThrow();
    expect(() => readBinary(PartSchema, odd, { maxValues: 50 })).toThrow("more than 50 JSON values (jsonMaxValues)");
    expect(() => assertFewValues({ value: compactValue(null) }, 0)).toThrow("more than 0 JSON values");
  });
});
