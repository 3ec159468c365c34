import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

// A block behind a line that links to a file of deploy/ and ends with a colon is a part of that file, as it is.

const link = /\]\(\.\.\/\.\.\/deploy\/([\w./-]+)\)[^\n]*:\n\n```\w*\n([\s\S]*?)```/g;

const quotes = globSync("docs/guides/*.md").flatMap((page) =>
  [...readFileSync(page, "utf8").matchAll(link)].map(([, file = "", block = ""]) => ({ page, file, block })),
);

it("some guides quote files of deploy/", () => {
  expect(quotes.length).toBeGreaterThan(3);
});

it.each(quotes)("$page quotes deploy/$file as it is", ({ file, block }) => {
  expect(readFileSync(`deploy/${file}`, "utf8")).toContain(block);
});
