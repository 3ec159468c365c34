import { describe, expect, it } from "vitest";
import { mediaTypeOf, sections, supportedMediaTypes } from "../../../examples/demo/report.js";
import { UnreadableFile } from "../../../examples/demo/unreadable-file.js";

const textTitles = ["Size", "Words & sentences", "Reading time", "Most frequent terms", "Readability"];
const tableTitles = ["Shape", "Columns", "Missing values", "Ranges"];
const report = (mediaType: string, content: string, name?: string) => [...sections({ mediaType, content, name })];

describe("media type", () => {
  it.each([
    [undefined, undefined, "text/plain"],
    ["", "", "text/plain"],
    ["notes.txt", undefined, "text/plain"],
    ["README.md", undefined, "text/markdown"],
    ["a/b.MARKDOWN", "", "text/markdown"],
    ["data.tar.csv", undefined, "text/csv"],
    ["data.json", undefined, "application/json"],
    ["image.png", undefined, undefined],
    ["Makefile", undefined, undefined],
    ["image.png", "Text/CSV; charset=UTF-8", "text/csv"],
    ["notes.txt", "image/png", "image/png"],
    [undefined, " application/json ", "application/json"],
  ])("the media type of the file %j declared as %j is %j", (filename, declared, mediaType) => {
    expect(mediaTypeOf(filename, declared)).toBe(mediaType);
  });
});

describe("report", () => {
  it.each([
    ["text/plain", "Some text.", textTitles],
    ["text/markdown; charset=utf-8", "# Some text", textTitles],
    ["TEXT/CSV", "a,b\n1,2", tableTitles],
    ["application/json", "[1]", tableTitles],
  ])("the report on %s has its sections in order", (mediaType, content, titles) => {
    expect(report(mediaType, content).map(({ title }) => title)).toEqual(titles);
  });

  it.each(supportedMediaTypes.filter((type) => type !== "application/json"))(
    "the report on empty %s has every section",
    (type) => {
      const titles = report(type, "").map(({ title }) => title);
      expect(titles).toEqual(type === "text/csv" ? tableTitles : textTitles);
    },
  );

  it("the report on text gives its figures in words and as data", () => {
    const [size, words, time, terms, ease] = report("text/plain", "Tasks run. Tasks end.", "my_notes.txt");
    expect(size?.markdown).toBe("- my\\_notes.txt (text/plain)\n- 21 bytes\n- 21 characters\n- 1 line");
    expect(size?.figures).toEqual({
      name: "my_notes.txt",
      mediaType: "text/plain",
      bytes: 21,
      characters: 21,
      lines: 1,
    });
    expect(words?.markdown).toBe("- 4 words, 3 distinct\n- 2 sentences, 2 words each on average\n- 1 paragraph");
    expect(time).toMatchObject({ markdown: "About 2 seconds at 200 words a minute.", figures: { seconds: 2 } });
    expect(terms?.markdown).toContain("| tasks | 2 |");
    expect(ease?.markdown).toContain("very easy");
  });

  it("the report on Markdown counts headings, links and code blocks", () => {
    const [, words] = report("text/markdown", "# A\n\n[b](c)\n");
    expect(words?.figures).toMatchObject({ headings: 1, links: 1, codeBlocks: 0 });
  });

  it("the report on CSV lists types, missing values and ranges", () => {
    const [shape, columns, missing, ranges] = report("text/csv", "city;people\nUlm;126000\nBonn;\n");
    expect(shape?.figures).toMatchObject({ rows: 2, columns: 2, separator: "semicolon" });
    expect(columns?.markdown).toBe("| Column | Type |\n| --- | --- |\n| city | text |\n| people | integer |");
    expect(missing?.markdown).toContain("1 of 4 values missing.");
    expect(missing?.figures).toEqual({ missing: 1, columns: [{ name: "people", missing: 1 }], omitted: 0 });
    expect(ranges?.markdown).toContain("| city | 3 to 4 characters, 2 distinct |");
    expect(ranges?.markdown).toContain("| people | 126,000 to 126,000, mean 126,000 |");
  });

  it("the report on JSON gives its depth and counts", () => {
    const [shape] = report("application/json", '[{"a":[1,2]}]');
    expect(shape?.figures).toMatchObject({ shape: "records", depth: 3, objects: 1, arrays: 2, scalars: 2 });
  });

  it.each([
    [
      "image/png",
      "",
      "unsupported media type image/png, wanted one of text/plain, text/markdown, text/csv, application/json",
    ],
    ["application/json", "{", "invalid JSON at line 1, column 2: unexpected end of the text"],
    ["text/csv", "a\n1,2", "invalid CSV at line 2: the field count is 2, in the header it is 1"],
  ])("the report throws at the call for %s with content %j", (mediaType, content, message) => {
    expect(() => sections({ mediaType, content })).toThrow(new UnreadableFile(message));
  });
});

describe("bounds", () => {
  const wide = JSON.stringify([
    Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`k${i}`, i % 2 ? i : null])),
    {},
  ]);

  it("the report lists 50 columns and says how many more there are", () => {
    const [, columns, missing, ranges] = report("application/json", wide);
    expect(columns?.figures["columns"]).toHaveLength(50);
    expect(columns?.markdown).toContain("… and 2,950 more columns.");
    expect(missing?.markdown).toContain("… and 2,950 more columns.");
    expect(ranges?.figures["omitted"]).toBe(2950);
  });

  it.each([
    ["application/json", wide],
    ["application/json", JSON.stringify({ ["k".repeat(1e6)]: "v".repeat(1e6) })],
    ["text/csv", `${"h".repeat(1e6)}\n${"v".repeat(1e6)}`],
    ["text/csv", `${"h,".repeat(5e5)}h`],
    ["text/plain", "w".repeat(1e6)],
    ["text/plain", Array.from({ length: 1e5 }, (_, i) => `word${i}`).join(" ")],
  ])("the report on 1 MB of %s stays small", (mediaType, content) => {
    for (const section of report(mediaType, content, "n".repeat(1e5))) {
      expect(JSON.stringify(section).length).toBeLessThan(16_384);
    }
  });

  it("the report keeps names of the sender from breaking the table or the page", () => {
    const [, columns] = report("text/csv", '"a|b\n<script>\ud800"\n1');
    expect(columns?.markdown.split("\n").at(-1)).toBe("| a\\|b \\<script\\>\ufffd | integer |");
    expect(columns?.figures["columns"]).toEqual([{ name: "a|b <script>\ufffd", type: "integer" }]);
  });

  it("the report has only figures that JSON can carry", () => {
    const all = report("application/json", '[1e999, -1e999, 1e308, 1e308, "x", {"a":[]}]');
    expect(JSON.parse(JSON.stringify(all))).toEqual(all);
  });
});
