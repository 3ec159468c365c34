import { existsSync, globSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { anchorsIn, documents, read, withoutBlocks } from "./pages.js";

const pages = [...new Set([...globSync("*.md"), ...documents, ...globSync("test/**/README.md")])].filter(
  (file) => !file.includes("node_modules"),
);

/** The tests that run examples, and what they share. */
const tests = globSync("test/{browser,examples,journeys,package}/**/*.test.ts").map(read);

interface Link {
  readonly target: string;
  /** The file or folder of the repository. */
  readonly file: string;
  readonly heading: string | undefined;
}

/** The links of a page that lead into the repository. */
function linksOf(page: string): readonly Link[] {
  return [
    ...withoutBlocks(read(page)).matchAll(/(?:\]\(|(?:src|srcset|href)=")(?!https?:|mailto:)([^)"\s]+)[)"]/g),
  ].map(([, target = ""]) => {
    const [path = "", heading] = target.split("#");
    return { target, file: path === "" ? page : posix.join(posix.dirname(page), path), heading };
  });
}

describe("the links", () => {
  it.each(pages)("the links of %s lead to files, and to headings of them", (page) => {
    for (const { target, file, heading } of linksOf(page)) {
      expect(existsSync(file), `${page} → ${target}`).toBe(true);
      if (heading !== undefined) expect(anchorsIn(read(file)), `${page} → ${target}`).toContain(heading);
    }
  });

  it("links lead from docs/README.md to every page of the documents", () => {
    const reached = new Set(["docs/README.md"]);
    for (const page of reached) {
      for (const { file } of linksOf(page)) {
        if (file.startsWith("docs/") && file.endsWith(".md") && existsSync(file)) reached.add(file);
      }
    }
    expect(documents.filter((page) => page !== "README.md" && !reached.has(page))).toEqual([]);
  });

  it.each(documents.filter((page) => page.startsWith("docs/guides/")))(
    "the links of %s end with what to read next",
    (page) => {
      const [, next = ""] = /\n## Next\n([^#]*(?:#(?!# )[^#]*)*)$/.exec(read(page)) ?? [];
      expect(next.match(/\]\((?:\.\.\/)*[\w/-]+\.\w+/g)?.length, next).toBeGreaterThan(1);
    },
  );

  it.each(globSync("examples/*").toSorted())(
    "a link leads to %s from a page, and a test runs the example",
    (folder) => {
      const pages = documents.filter((page) =>
        linksOf(page).some(({ file }) => file === folder || file.startsWith(`${folder}/`)),
      );
      expect(pages).not.toEqual([]);
      const name = `["'\`/]${folder.slice("examples/".length)}["'\`/]`;
      expect(tests.filter((text) => new RegExp(name).test(text))).not.toEqual([]);
    },
  );

  it("a link leads from the README to the index of the documents", () => {
    expect(linksOf("README.md").map(({ file }) => file)).toContain("docs/README.md");
  });
});
