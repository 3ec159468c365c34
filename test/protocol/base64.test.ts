import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each(["with the Buffer of Node", "without it, as in a browser"])("base64 %s", (where) => {
  let codec: typeof import("../../src/protocol/base64.js");

  beforeAll(async () => {
    if (where !== "with the Buffer of Node") vi.stubGlobal("Buffer", undefined);
    vi.resetModules();
    codec = await import("../../src/protocol/base64.js");
    vi.unstubAllGlobals();
  });

  it("base64 reads what it writes, in either alphabet and also without padding", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const text = codec.base64FromBytes(bytes);
        expect(text).toBe(Buffer.from(bytes).toString("base64"));
        expect(codec.bytesFromBase64(text)).toEqual(bytes);
        expect(codec.bytesFromBase64(text.replace(/=+$/, ""))).toEqual(bytes);
        expect(codec.bytesFromBase64(text.replaceAll("+", "-").replaceAll("/", "_"))).toEqual(bytes);
      }),
    );
  });

  it.each(["aGVs\nbG8=", " aGVs bG8 =\r\n", "aGVs\tbG8"])(
    "base64 reads %j, whose white space means nothing",
    (text) => {
      expect(codec.bytesFromBase64(text)).toEqual(new TextEncoder().encode("hello"));
    },
  );

  it("base64 takes megabytes", () => {
    const bytes = Uint8Array.from({ length: 1_000_003 }, (_, index) => index % 251);
    expect(Buffer.compare(codec.bytesFromBase64(codec.base64FromBytes(bytes)) ?? bytes.subarray(1), bytes)).toBe(0);
  });

  it("base64 writes the bytes of a view, not of the buffer around it", () => {
    expect(codec.base64FromBytes(new Uint8Array([9, 104, 105, 9]).subarray(1, 3))).toBe("aGk=");
  });

  it.each(["a", "abcde", "ab=", "abc==", "a=bc", "====", "=", "a\n", "a b c d e", "ab c===", "é", "ab==ab=="])(
    "base64 refuses %j",
    (text) => {
      expect(codec.bytesFromBase64(text)).toBeUndefined();
    },
  );
});
