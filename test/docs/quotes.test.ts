import { describe, expect, it } from "vitest";
import { blocksOf, documents, quotedFile, read } from "./pages.js";

const quotes = documents.flatMap((page) =>
  blocksOf(page).flatMap((block) => {
    const file = quotedFile(block);
    return file === undefined ? [] : [{ place: `${page}:${block.line}`, file, code: block.code }];
  }),
);

/** A quote may leave out the indentation that all its lines have in the file. */
const indented = (code: string, depth: number): string => code.replaceAll(/^(?=.)/gm, " ".repeat(depth));

describe("the quotes", () => {
  it.each(quotes)("the quote at $place is a part of $file, as it is", ({ file, code }) => {
    const source = read(file);
    const isPart = [0, 2, 4, 6, 8].some((depth) => source.includes(indented(code, depth)));
    if (!isPart) expect(source).toContain(code);
  });

  it("quotes begin behind a line that links to their file", () => {
    expect(quotes.map(({ file }) => file)).toContain("examples/express-mount/server.ts");
  });

  it("quotes show hello in the README from its first line to its last", () => {
    const [first] = blocksOf("README.md");
    expect(first?.code).toBe(read("examples/hello/server.ts"));
  });
});
