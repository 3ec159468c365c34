import fc from "fast-check";
import { expect, it } from "vitest";
import { concat } from "../../../src/binding/concat.js";
import { EnvelopeReader, encodeEnvelope } from "../../../src/binding/connect/envelope.js";

it("the envelope reader finds the same envelopes however they are cut into pieces", () => {
  const payloads = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 });
  fc.assert(
    fc.property(payloads, fc.infiniteStream(fc.nat(30)), (messages, sizes) => {
      const frames = messages.map(encodeEnvelope);
      let rest = concat(
        frames,
        frames.reduce((sum, { length }) => sum + length, 0),
      );
      const reader = new EnvelopeReader(40);
      const pieces: Uint8Array[] = [];
      while (rest.length > 0) {
        const size = sizes.next().value ?? 1;
        for (const { data } of reader.read(rest.subarray(0, size))) pieces.push(data.slice());
        rest = rest.subarray(size);
      }
      expect(pieces).toEqual(messages);
    }),
  );
});

it("the envelope reader refuses an envelope over its limit by its head alone", () => {
  const reader = new EnvelopeReader(10);
  expect([...reader.read(encodeEnvelope(new Uint8Array(10)))]).toHaveLength(1);
  const head = encodeEnvelope(new Uint8Array(11)).subarray(0, 5);
  expect(() => [...reader.read(head)]).toThrow(expect.objectContaining({ code: "contentTooLarge" }));
});

it("the envelope reader keeps the flags of an envelope", () => {
  const reader = new EnvelopeReader(10);
  expect([...reader.read(Uint8Array.of(130, 0, 0, 0, 1, 7))]).toEqual([{ flags: 130, data: Uint8Array.of(7) }]);
});
