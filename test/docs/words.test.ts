import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseSource } from "../support/source-file.js";
import { documents, read } from "./pages.js";

/** Words that our texts do without, and what says it better. */
const words: readonly (readonly [pattern: RegExp, better: string])[] = [
  [/\b(?:some|any|no)body\b/i, "a caller, a reader, another process: the one who is meant; or no one"],
  [/\bwho(?:m|so)?ever\b/i, "the caller that …, any process that …"],
  [/\bours\b/i, "Trivium's"],
  [/\bthat there (?:is|are)\b/i, "leave it out"],
  [/(?:^|[.:;|>*-] )What (?:is|are|was|were|has been|had been)\b(?![^.|]*\?)/m, "a noun as the subject"],
  [/\bbears?\b/i, "supports, is safe to, carries, has"],
  [/\blies\b/i, "is"],
  [/\b(?:stands|stood)\b/i, "is, represents"],
  [/\b(?:tells|told)\b/i, "reports, distinguishes, notifies"],
  [/\bsaid aloud\b/i, "explicit"],
  [/\b(?:go|goes|going|went) on\b/i, "continues, resumes"],
  [/\b(?:is|are) there again\b/i, "persists, is back"],
  [/\bhas it that\b/i, "says that"],
  [/\bthat (?:is|are) alive\b/i, "supported, running"],
  [/\bround and round\b/i, "a busy loop"],
];

interface Text {
  readonly line: number;
  readonly text: string;
}

function hitsOf({ line, text }: Text): readonly string[] {
  // A phrase may be broken over two lines.
  const joined = text.replaceAll(/(?<!\n)\n(?!\n)/g, " ");
  return words.flatMap(([pattern, better]) =>
    [...joined.matchAll(new RegExp(pattern, `${pattern.flags}g`))].map((hit) => {
      const at = line + text.slice(0, hit.index).split("\n").length - 1;
      return `line ${at}: "${hit[0].trim()}" (${better})`;
    }),
  );
}

const pageHits = (page: string): readonly string[] => hitsOf({ line: 1, text: read(page) });

/** Comments and texts of a source file. A string without a space is a name. */
function textsOf(path: string): readonly Text[] {
  const { comments, strings } = parseSource(path, read(path));
  const joined = comments.map(({ line, text }) => ({ line, text: text.replaceAll(/\n\s*\*/g, "\n") }));
  return [...joined, ...strings.filter(({ text }) => text.includes(" "))];
}

describe("the words", () => {
  it.each(documents)("of %s are plain", (page) => {
    expect(pageHits(page)).toEqual([]);
  });

  it("of comments and texts in src/ are plain", () => {
    const hits = globSync("src/**/*.ts").flatMap((path) =>
      textsOf(path)
        .flatMap(hitsOf)
        .map((hit) => `${path} ${hit}`),
    );
    expect(hits).toEqual([]);
  });

  it.each([
    "Somebody else may see it.",
    "The file is on a disk of ours.",
    "It is in the page.\nWhat is left out is refused.",
    "The agent bears it.",
    "The port lies behind a proxy.",
    "The error stands in the log.",
    "A header tells the version.",
    "The stream goes on.",
    "It serves every version that\nthere is.",
  ])("would notice %j", (text) => {
    expect(hitsOf({ line: 1, text })).not.toEqual([]);
  });

  it.each([
    "The reader understands a bearer token and misunderstands nothing.",
    "What is A2A? It believes in retellings, upstanding relies and foregoing ontology.",
  ])("lets %j pass", (text) => {
    expect(hitsOf({ line: 1, text })).toEqual([]);
  });
});
