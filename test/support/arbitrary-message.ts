import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import fc from "fast-check";
import { valueFromJson } from "../../src/protocol/codec/json/struct.js";

// Random messages of any type, generated from its descriptor. They are valid ProtoJSON, not necessarily valid requests.

/** Any well-formed text, including characters that are special in JSON, HTML and Unicode. */
export const arbitraryText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom("", '"\\\u2028\n', "😀é"),
);

/** Any JSON value that a Struct may hold. Written and read once, since JSON has no -0. */
export const arbitraryJson = fc
  .jsonValue({ maxDepth: 3, stringUnit: "binary" })
  .filter((json) => !hasProtoKey(json))
  .map((json): typeof json => JSON.parse(JSON.stringify(json)));

function hasProtoKey(json: unknown): boolean {
  return JSON.stringify(json).includes('"__proto__":');
}

const arbitraryTimestamp = fc.record({
  $typeName: fc.constant("google.protobuf.Timestamp" as const),
  seconds: fc.oneof(fc.bigInt(-62_135_596_800n, 253_402_300_799n), fc.bigInt(0n, 4_000_000_000n)),
  nanos: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 0, max: 999 }).map((ms) => ms * 1_000_000),
    fc.nat(999_999_999),
  ),
});

const arbitraryScalars: ReadonlyMap<ScalarType, fc.Arbitrary<unknown>> = new Map<ScalarType, fc.Arbitrary<unknown>>([
  [ScalarType.STRING, arbitraryText],
  [ScalarType.BOOL, fc.boolean()],
  [ScalarType.INT32, fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.constant(0))],
  [ScalarType.BYTES, fc.uint8Array({ maxLength: 9 })],
]);

/** Random messages of a type. */
export function arbitraryMessage<Desc extends DescMessage>(desc: Desc): fc.Arbitrary<MessageShape<Desc>> {
  const members = Object.fromEntries(desc.members.map((member) => [member.localName, arbitraryMember(member)]));
  return fc.record(members).map((init) => create(desc as DescMessage, init) as MessageShape<Desc>);
}

function arbitraryMember(member: DescField | DescOneof): fc.Arbitrary<unknown> {
  if (member.kind === "oneof") {
    const cases = member.fields.map((field) =>
      fc.record({ case: fc.constant(field.localName), value: arbitraryOne(field) }),
    );
    return fc.oneof(fc.constant({ case: undefined }), ...cases);
  }
  const one = arbitraryOne(member);
  if (member.fieldKind === "list") return fc.array(one, { maxLength: 2 });
  if (member.fieldKind === "map") {
    return fc.dictionary(
      arbitraryText.filter((key) => key !== "__proto__"),
      one,
      { maxKeys: 2, noNullPrototype: true },
    );
  }
  const hasPresence = member.fieldKind === "message" || member.proto.proto3Optional;
  return hasPresence ? fc.option(one, { nil: undefined }) : one;
}

function arbitraryOne({ message, enum: words, scalar }: DescField): fc.Arbitrary<unknown> {
  if (words !== undefined) return fc.constantFrom(...words.values.map(({ number }) => number));
  if (scalar !== undefined) return arbitraryScalars.get(scalar) ?? fc.constant(undefined);
  switch (message?.typeName) {
    case undefined:
      return fc.constant(undefined);
    case "google.protobuf.Timestamp":
      return arbitraryTimestamp;
    case "google.protobuf.Struct":
      return fc.dictionary(
        arbitraryText.filter((key) => key !== "__proto__"),
        arbitraryJson,
        {
          maxKeys: 3,
          noNullPrototype: true,
        },
      );
    case "google.protobuf.Value":
      return arbitraryJson.map((json) =>
        valueFromJson(json as never, { maxDepth: 64, lenient: false, violations: [] }, 1),
      );
    default:
      return arbitraryMessage(message as DescMessage);
  }
}
