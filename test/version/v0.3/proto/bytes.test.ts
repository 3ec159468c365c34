import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FilePart, FilePartSchema } from "../../../../gen/a2a/v1/a2a_pb.js";
import { detectBytesForm, readBytes, writeBytes } from "../../../../src/version/v0.3/proto/peers.js";

function fileOf(bytes: Uint8Array | string, mimeType = ""): FilePart {
  const value = typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes;
  return create(FilePartSchema, { file: { case: "fileWithBytes", value }, mimeType });
}

describe("the bytes of a file", () => {
  // Requirements: IOP-12
  it.each([
    { what: "base64 text", bytes: "aGVsbG8=", mimeType: "", form: "base64", content: "hello" },
    { what: "base64 text of a text", bytes: "Y3Jldw==", mimeType: "text/plain", form: "base64", content: "crew" },
    { what: "a word that is base64 of no text", bytes: "crew", mimeType: "text/plain", form: "raw", content: "crew" },
    { what: "such a word as JSON", bytes: "null", mimeType: "application/json", form: "raw", content: "null" },
    { what: "text with a space", bytes: "a b c d ", mimeType: "", form: "raw", content: "a b c d " },
    { what: "a length that is no multiple of 4", bytes: "aGVsbG8", mimeType: "", form: "raw", content: "aGVsbG8" },
    { what: "the URL alphabet", bytes: "_-_-", mimeType: "", form: "raw", content: "_-_-" },
    { what: "padding in the middle", bytes: "aG=sbG8=", mimeType: "", form: "raw", content: "aG=sbG8=" },
    { what: "padding alone", bytes: "====", mimeType: "", form: "raw", content: "====" },
  ])("the bytes of a 0.3 file are read as $form: $what", ({ bytes, mimeType, form, content }) => {
    const file = fileOf(bytes, mimeType);
    expect(detectBytesForm([file])).toBe(form);
    expect(new TextDecoder().decode(readBytes(file, form === "raw" ? "raw" : "base64"))).toBe(content);
  });

  it("the bytes of a long 0.3 text in another encoding than UTF-8 are base64 all the same", () => {
    const latin1 = Buffer.from("é ".repeat(40), "latin1");
    const file = fileOf(latin1.toString("base64"), "text/plain");
    expect(detectBytesForm([file])).toBe("base64");
    expect(Buffer.from(readBytes(file, "base64"))).toEqual(latin1);
  });

  it("the bytes of a 0.3 file show nothing when there are none", () => {
    expect(detectBytesForm([fileOf("")])).toBeUndefined();
    expect(detectBytesForm([create(FilePartSchema, { file: { case: "fileWithUri", value: "u" } })])).toBeUndefined();
  });

  it("the bytes of a 0.3 file are none of base64 when one file of the same sender is not", () => {
    expect(detectBytesForm([fileOf("aGVsbG8="), fileOf("no base64")])).toBe("raw");
    expect(detectBytesForm([fileOf("aGVsbG8="), fileOf("")])).toBe("base64");
  });

  it("the bytes of a 0.3 file are what they were in either form", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom("base64" as const, "raw" as const),
        (content, form) => {
          expect(readBytes(fileOf(writeBytes(content, form)), form)).toEqual(content);
        },
      ),
    );
  });

  it("0.3 bytes written as base64 are never taken for content, unless declared as text and not base64", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (content) => {
        expect(detectBytesForm([fileOf(writeBytes(content, "base64"), "application/octet-stream")])).toBe("base64");
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("a", "é", "\n", "😀"), minLength: 1 }), (text) => {
        const content = new TextEncoder().encode(text);
        expect(detectBytesForm([fileOf(writeBytes(content, "base64"), "text/plain; charset=utf-8")])).toBe("base64");
      }),
    );
  });
});
