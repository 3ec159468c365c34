import { fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameMessage } from "../../../../src/protocol/check/same-message.js";
import { sizeOfMessage } from "../../../../src/protocol/check/size.js";
import { readBinary } from "../../../../src/protocol/codec/binary/reader.js";
import { writeBinary } from "../../../../src/protocol/codec/binary/writer.js";
import { compactValue, findKeptJson } from "../../../../src/protocol/codec/json/compact-value.js";
import { readJson } from "../../../../src/protocol/codec/json/reader.js";
import { writeJson } from "../../../../src/protocol/codec/json/writer.js";
import { type Message, MessageSchema, type Part, PartSchema, Role } from "../../../../src/protocol/model.js";
import { data } from "../../../../src/protocol/parts.js";
import { heapOf } from "../../../support/heap.js";

const json = { list: [1, "two", null, [true]], object: { a: {} } };

function keptIn({ content }: Part): unknown {
  return content.case === "data" ? findKeptJson(content.value) : undefined;
}

describe("a value that keeps its JSON", () => {
  it("a value that keeps its JSON is the message that protobuf-es makes of it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (source) => {
        const text = JSON.stringify(source);
        // A name that readers refuse.
        fc.pre(!text.includes("__proto__"));
        const value: JsonValue = JSON.parse(text);
        const message = fromJson(ValueSchema, value);
        expect(toJson(ValueSchema, compactValue(value))).toEqual(toJson(ValueSchema, message));
        expect(toBinary(ValueSchema, compactValue(value))).toEqual(toBinary(ValueSchema, message));
        expect({ ...compactValue(value) }).toEqual(message);
      }),
    );
  });

  it("a value that keeps its JSON is an ordinary message once it was read", () => {
    const value = compactValue(json);
    const { kind } = value;
    expect(findKeptJson(value)).toBeUndefined();
    expect(value.kind).toBe(kind);
    if (kind.case === "structValue") kind.value.fields = {};
    expect(toJson(ValueSchema, value)).toEqual({});
    value.kind = { case: "boolValue", value: true };
    expect(toJson(ValueSchema, value)).toBe(true);
  });

  it("a value that keeps its JSON can be changed before it is read", () => {
    const value = compactValue(json);
    value.kind = { case: "numberValue", value: 7 };
    expect(findKeptJson(value)).toBeUndefined();
    expect(toJson(ValueSchema, value)).toBe(7);
  });

  it("a value that keeps its JSON is what every reader makes and every writer takes, without reading it", () => {
    const read = readJson(PartSchema, { data: json }).message;
    const binary = writeBinary(PartSchema, read);
    expect(keptIn(read)).toEqual(json);
    expect(fromBinary(PartSchema, binary)).toEqual(readJson(PartSchema, { data: json }).message);
    const again = readBinary(PartSchema, binary);
    expect(writeJson(PartSchema, again)).toEqual({ data: json });
    expect(isSameMessage(read, again)).toBe(true);
    expect([keptIn(read), keptIn(again)]).toEqual([json, json]);
  });

  it("a value that keeps its JSON is a copy of what an agent gives, which may change afterwards", () => {
    const source = { list: [1] };
    const part = data(source);
    source.list.push(2);
    expect(writeJson(PartSchema, part)).toMatchObject({ data: { list: [1] } });
  });
});

describe("the memory of free JSON", () => {
  // Large, since other work of the process takes or frees some of the heap meanwhile.
  const shapes: Readonly<Record<string, () => unknown>> = {
    numbers: () => Array(1_000_000).fill(0),
    "empty lists": () => Array.from({ length: 500_000 }, () => []),
    "empty objects": () => Array.from({ length: 500_000 }, () => ({})),
    records: () => Array.from({ length: 200_000 }, (_, id) => ({ id, name: `n${id}`, ok: true })),
    texts: () => Array.from({ length: 200_000 }, (_, n) => `${n}`.padEnd(60, "x")),
    "an object of many names": () => Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => [`key${n}`, 1])),
  };

  it.each(Object.entries(shapes))("the memory of free JSON of %s is what its size says", (_, make) => {
    const text = JSON.stringify({ messageId: "m", role: "ROLE_USER", parts: [{ data: make() }] });
    const { value: message, bytes } = heapOf((): Message => readJson(MessageSchema, JSON.parse(text)).message);
    expect(message.role).toBe(Role.USER);
    expect(sizeOfMessage(message)).toBeGreaterThan(bytes / 1.5);
    expect(sizeOfMessage(message)).toBeLessThan(bytes * 2.5);
  });

  it("the memory of free JSON of a body of zeros is a few times its bytes", () => {
    const text = `{"parts":[{"data":[${"0,".repeat(999_999)}0]}]}`;
    const { value: message, bytes } = heapOf((): Message => readJson(MessageSchema, JSON.parse(text)).message);
    expect(message.parts).toHaveLength(1);
    expect(bytes).toBeLessThan(5 * text.length);
  });
});
