import { type DescMessage, equals, fromBinary, fromJson, type JsonValue, toBinary, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "../../../../src/protocol/codec/json/reader.js";
import { writeJson } from "../../../../src/protocol/codec/json/writer.js";
import { A2AError } from "../../../../src/protocol/errors.js";
import { operations } from "../../../../src/protocol/operations.js";
import { v1 } from "../../../../src/version/v1.0/v1.js";
import { arbitraryMessage } from "../../../support/arbitrary-message.js";

const types = [
  ...new Map(operations.flatMap(({ input, output }) => [input, output]).map((desc) => [desc.typeName, desc])),
];

describe.each(types)("%s", (_, desc) => {
  const message = arbitraryMessage(desc);

  it("a message is read back from its JSON as it was, and works in binary", () => {
    fc.assert(
      fc.property(message, (original) => {
        const { message: read, violations } = readJson(desc, throughText(writeJson(desc, original)));
        expect(violations).toEqual([]);
        expect(equals(desc, read, original)).toBe(true);
        expect(equals(desc, fromBinary(desc, toBinary(desc, read)), original)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("a message is read exactly as protobuf-es reads it, down to the shape of the objects", () => {
    fc.assert(
      fc.property(message, (original) => {
        const json = throughText(toJson(desc, original));
        expect(readJson(desc, json).message).toStrictEqual(fromJson(desc, json));
      }),
      { numRuns: 60 },
    );
  });

  it("a message is written as protobuf-es reads it", () => {
    fc.assert(
      fc.property(message, (original) => {
        expect(equals(desc, fromJson(desc, throughText(writeJson(desc, original))), original)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

describe.each(operations.map((operation) => [operation.method, operation] as const))("%s", (_, operation) => {
  const codec = v1.jsonRpc?.codec(operation);

  it("an operation refuses anything but its request with an A2AError", () => {
    fc.assert(
      fc.property(spoiltJson(operation.input), (json) => {
        try {
          codec?.readRequest(json);
        } catch (error) {
          expect(error).toBeInstanceOf(A2AError);
          expect(error).toMatchObject({ code: "invalidParams" });
        }
      }),
      { numRuns: 100 },
    );
  });

  it("an operation takes no JSON that protobuf-es would not take", () => {
    fc.assert(
      fc.property(spoiltJson(operation.input), (json) => {
        const { message, violations } = readJson(operation.input, json);
        if (violations.length > 0) return;
        // We read `params: null` as an empty request.
        const reference = fromJson(operation.input, json ?? {}, { ignoreUnknownFields: true });
        expect(equals(operation.input, reference, message)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it("an operation reads a reply, or reports that it cannot, whatever a peer sends", () => {
    fc.assert(
      fc.property(spoiltJson(operation.output), (json) => {
        try {
          codec?.readReply(json);
        } catch (error) {
          expect(error).toBeInstanceOf(A2AError);
          expect(error).toMatchObject({ code: "invalidAgentResponse" });
        }
      }),
      { numRuns: 100 },
    );
  });
});

/** The JSON of a message with one value replaced or one member added. */
function spoiltJson(desc: DescMessage): fc.Arbitrary<JsonValue> {
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(null, "x", -1, 1.5, 2 ** 40, "12", "1e2", "1.0", true, [], {}, [null], "\ud800", {
      __proto__: null,
    }),
  ) as fc.Arbitrary<JsonValue>;
  const spoilt = fc
    .tuple(arbitraryMessage(desc), fc.nat(), junk)
    .map(([message, at, value]) => replaceAt(throughText(writeJson(desc, message)), at, value));
  return fc.oneof({ weight: 5, arbitrary: spoilt }, { weight: 1, arbitrary: junk });
}

/** Replaces the value at one place of the tree, counted in order. */
function replaceAt(json: JsonValue, at: number, value: JsonValue): JsonValue {
  const places: [JsonValue[] | { [key: string]: JsonValue }, string][] = [];
  const visit = (node: JsonValue): void => {
    if (typeof node !== "object" || node === null) return;
    for (const [key, child] of Object.entries(node)) {
      places.push([node, key]);
      visit(child);
    }
  };
  visit(json);
  const place = places[at % (places.length + 1)];
  if (place === undefined) return value;
  Object.assign(place[0], { [place[1]]: value });
  return json;
}

function throughText(json: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(json)) as JsonValue;
}
