import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { file_a2a_v1_a2a } from "../../../../gen/a2a/v1/a2a_pb.js";
import { file_google_rpc_status } from "../../../../gen/google/rpc/status_pb.js";
import { file_lf_a2a_v1_a2a } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { readBinary } from "../../../../src/protocol/codec/binary/reader.js";
import { PartSchema } from "../../../../src/protocol/model.js";
import { arbitraryMessage } from "../../../support/arbitrary-message.js";
import { tries } from "../../../support/tries.js";

const types = [file_lf_a2a_v1_a2a, file_a2a_v1_a2a, file_google_rpc_status].flatMap(({ messages }) => messages);
const options = { recursionLimit: 200 };

/** Returns the message that a reader decodes, or its error. */
function outcome(read: (desc: DescMessage, bytes: Uint8Array, options: object) => Message, desc: DescMessage) {
  return (bytes: Uint8Array) => {
    try {
      return { message: read(desc, bytes, options) };
    } catch (error) {
      return { error: String(error) };
    }
  };
}

function expectAlike(desc: DescMessage, input: Uint8Array): void {
  const bytes = Uint8Array.from(input);
  const expected = outcome(fromBinary, desc)(bytes);
  expect(outcome(readBinary, desc)(bytes)).toStrictEqual(expected);
  expect(outcome(readBinary, desc)(Buffer.from(bytes))).toStrictEqual(expected);
}

describe("reading binary messages", () => {
  it.each(types.map((desc) => [desc.typeName, desc] as const))(
    "the binary reader reads %s as fromBinary does",
    (_, desc) => {
      const messages = arbitraryMessage(desc);
      fc.assert(
        fc.property(messages, messages, fc.nat(), fc.nat(255), (message, other, place, byte) => {
          const bytes = toBinary(desc, message);
          expectAlike(desc, bytes);
          // Repeated fields: the last scalar wins, and messages merge.
          expectAlike(desc, Buffer.concat([bytes, toBinary(desc, other)]));
          const cut = bytes.subarray(0, place % (bytes.length + 1));
          expectAlike(desc, cut);
          if (bytes.length === 0) return;
          const broken = Uint8Array.from(bytes);
          broken[place % bytes.length] = byte;
          expectAlike(desc, broken);
        }),
        { numRuns: tries(30, 100) },
      );
    },
  );

  it("the binary reader reads a null with an unknown number as fromBinary does", () => {
    const { number } = PartSchema.field.data;
    // The field's tag, and a Value of two bytes: `null_value: 1`.
    const bytes = Uint8Array.of((number << 3) | 2, 2, 1 << 3, 1);
    expect(fromBinary(PartSchema, bytes).content.case).toBe("data");
    expectAlike(PartSchema, bytes);
  });

  it("the binary reader reads any bytes as fromBinary does", () => {
    const [first = types[0], ...others] = types;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(first, ...others), (bytes, desc) => {
        if (desc !== undefined) expectAlike(desc, bytes);
      }),
      { numRuns: 3_000 },
    );
  });
});
