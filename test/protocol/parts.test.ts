import { toJson } from "@bufbuild/protobuf";
import { type Content, data, file, type Part, text } from "trivium";
import { describe, expect, it } from "vitest";
import { PartSchema } from "../../src/protocol/model.js";
import { toParts } from "../../src/protocol/parts.js";

describe("a part", () => {
  it.each<[string, Part, object]>([
    ["of text", text("hi"), { text: "hi" }],
    ["of nothing but an empty text", text(""), { text: "" }],
    ["of text of a type", text("# hi", { mediaType: "text/markdown" }), { text: "# hi", mediaType: "text/markdown" }],
    ["of data", data({ a: [1, null, "x"] }), { data: { a: [1, null, "x"] }, mediaType: "application/json" }],
    ["of data that is null", data(null), { data: null, mediaType: "application/json" }],
    [
      "of data of a type",
      data(1, { mediaType: "application/geo+json" }),
      { data: 1, mediaType: "application/geo+json" },
    ],
    ["of bytes", file(new Uint8Array([1, 2]), { filename: "a.bin" }), { raw: "AQI=", filename: "a.bin" }],
    ["at a URL", file(new URL("https://x.example/a b")), { url: "https://x.example/a%20b" }],
    ["at a URL as it was written", file("gs://bucket/a b"), { url: "gs://bucket/a b" }],
    ["with metadata", text("x", { metadata: { a: { b: 1 } } }), { text: "x", metadata: { a: { b: 1 } } }],
  ])("a part %s has exactly the given members", (_, part, json) => {
    expect(toJson(PartSchema, part)).toEqual(json);
  });

  it("a part of bytes keeps them when the caller uses its buffer again", () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const part = file(bytes.subarray(1));
    bytes.fill(0);
    expect(part.content.value).toEqual(new Uint8Array([2, 3]));
  });
});

describe("file", () => {
  const paths = ["./chart.png", "chart.png", "/tmp/chart.png", "C:\\charts\\chart.png", "", "//x.example/a", "http://"];
  it.each(paths)("file refuses %j, which is no absolute URL, and names what reads a path", (path) => {
    expect(() => file(path)).toThrow(
      new TypeError(
        `file() takes a Uint8Array or an absolute URL, not ${JSON.stringify(path)}: ` +
          "use fileFrom() for a path or a stream, and fileOf() for a Blob",
      ),
    );
  });

  it.each<[string, unknown]>([
    ["object", new ArrayBuffer(1)],
    ["object", new Blob(["x"])],
    ["object", [1, 2]],
    ["number", 7],
    ["undefined", undefined],
  ])("file refuses an %s that holds no bytes", (type, value) => {
    expect(() => file(value as string)).toThrow(`or an absolute URL, not a value of type ${type}: use fileFrom()`);
  });

  it("file takes the URL of any scheme", () => {
    for (const url of ["https://x.example/a?b#c", "s3://bucket/a b", "data:text/plain,hi", "urn:x:y"]) {
      expect(file(url).content.value).toBe(url);
    }
  });
});

describe("a content", () => {
  const one = text("one");
  it.each<[string, Content, readonly Part[]]>([
    ["a text", "one", [one]],
    ["a part", one, [one]],
    ["several parts", [one, data(2)], [one, data(2)]],
  ])("a content may be %s", (_, content, parts) => {
    expect(toParts(content)).toEqual(parts);
  });

  it("a content is a copy of the given list, which may change", () => {
    const list = [one];
    const parts = toParts(list);
    list.pop();
    expect(parts).toEqual([one]);
  });

  it("a content takes texts and parts in one list", () => {
    const value = data({ berth: 4 });
    expect(toParts(["Berth 4.", value])).toEqual([text("Berth 4."), value]);
  });

  it("a content needs one part or more", () => {
    expect(() => toParts([])).toThrow(TypeError);
  });
});

it("data that JSON cannot represent is refused", () => {
  expect(() => data({ a: [1, Number.NaN] })).toThrow(new TypeError("data: a[1] must be a finite number"));
});
