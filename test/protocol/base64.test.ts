import fc from "fast-check";
import { expect, it } from "vitest";
import { base64FromBytes, bytesFromBase64 } from "../../src/protocol/base64.js";

it("reads what it writes, in either alphabet and also without padding", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const text = base64FromBytes(bytes);
      expect(bytesFromBase64(text)).toEqual(bytes);
      expect(bytesFromBase64(text.replace(/=+$/, ""))).toEqual(bytes);
      expect(bytesFromBase64(text.replaceAll("+", "-").replaceAll("/", "_"))).toEqual(bytes);
    }),
  );
});

it("writes the bytes of a view, not of the buffer around it", () => {
  expect(base64FromBytes(new Uint8Array([9, 104, 105, 9]).subarray(1, 3))).toBe("aGk=");
});

it.each(["a", "abcde", "ab=", "abc==", "a=bc", "====", "=", "ab c", "ab\nc", "é", "ab==ab=="])("refuses %j", (text) => {
  expect(bytesFromBase64(text)).toBeUndefined();
});
