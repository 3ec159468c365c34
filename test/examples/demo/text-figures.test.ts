import { describe, expect, it } from "vitest";
import {
  frequentTerms,
  proseOf,
  readingEase,
  readingSeconds,
  sizeFigures,
  type TextFormat,
  wordFigures,
} from "../../../examples/demo/text-figures.js";
import { tries } from "../../support/tries.js";

const plainWords = (text: string) => wordFigures(proseOf(text, "plain"));
const markdownWords = (text: string) => [...wordFigures(proseOf(text, "markdown")).counts.keys()];

describe("size", () => {
  it.each([
    ["", { bytes: 0, characters: 0, lines: 0 }],
    ["one\ntwo\n", { bytes: 8, characters: 8, lines: 2 }],
    ["one\r\ntwo", { bytes: 8, characters: 7, lines: 2 }],
    ["né", { bytes: 3, characters: 2, lines: 1 }],
    ["ne\u0301", { bytes: 4, characters: 2, lines: 1 }],
    ["👩‍👩‍👧🇩🇪👍🏽", { bytes: 34, characters: 3, lines: 1 }],
    ["漢字", { bytes: 6, characters: 2, lines: 1 }],
  ])("the size of %j counts bytes, what a reader sees as characters, and lines", (text, figures) => {
    expect(sizeFigures(text)).toEqual(figures);
  });
});

describe("words, sentences and paragraphs", () => {
  it.each([
    ["nothing", "", 0, 0, 0],
    ["blank space", " \n\n\t ", 0, 0, 0],
    ["plain sentences", "It rains. Does it? Yes!", 5, 3, 1],
    ["wrapped lines", "One sentence\nover two lines.", 5, 1, 1],
    ["two paragraphs without full stops", "One\r\n\r\nTwo", 2, 2, 2],
    ["titles and initials", "Dr. J. Smith met Mrs. Jones. They talked.", 8, 2, 1],
    ["a pronoun at the end", "So do I. Good.", 4, 2, 1],
    ["a list", "Buy:\n- green apples\n- ripe pears", 5, 3, 1],
    ["contractions", "Don’t panic, it's 3.14.", 4, 1, 1],
    ["emoji only", "🎉🎉", 0, 0, 1],
    ["Japanese", "私は学生です。本を読みます。", 8, 2, 1],
    ["Russian", "Мама мыла раму. Папа спал.", 5, 2, 1],
    ["Arabic", "مرحبا بالعالم. كيف حالك؟", 4, 2, 1],
    ["Thai, which has no spaces", "สวัสดีชาวโลก", 3, 1, 1],
  ])("words, sentences and paragraphs are counted in %s", (_case, text, words, sentences, paragraphs) => {
    const figures = plainWords(text);
    expect([figures.words, figures.sentences]).toEqual([words, sentences]);
    expect(proseOf(text, "plain").paragraphs).toBe(paragraphs);
  });

  it("a byte order mark counts as no word", () => {
    expect([...plainWords("\uFEFFhello").counts]).toEqual([["hello", 1]]);
  });
});

describe("Markdown", () => {
  it("the Markdown figures count headings, links and code blocks, and no heading as a paragraph", () => {
    const text =
      '# Title\n\nA [link](https://a.example "t") and <https://b.example>.\n\nSetext\n---\n\n```ts\ncode\n```\n';
    const prose = proseOf(text, "markdown");
    expect(prose.markdown).toEqual({ headings: 2, links: 2, codeBlocks: 1 });
    expect(prose.paragraphs).toBe(1);
  });

  it.each([
    ["emphasis", "**bold** _it_ ~~gone~~ snake_case", ["bold", "it", "gone", "snake_case"]],
    ["links and images", "[text](http://x.example/a_(b)) ![alt](i.png) [ref][1]", ["text", "alt", "ref"]],
    ["a linked image", "[![badge](b.svg)](https://ci.example)", ["badge"]],
    ["link definitions and footnotes", "note[^1]\n\n[^1]: said\n[ref]: https://x.example", ["note", "said"]],
    ["fenced code", "before\n~~~~\ncode\n~~~\n~~~~\nafter", ["before", "after"]],
    ["a fence that is never closed", "before\n```\ncode", ["before"]],
    ["inline code, keeping its words", "run `npm [x](y)` now", ["run", "npm", "x", "y", "now"]],
    ["HTML, comments and entities", '<b class="c">bold</b> <!-- <i>no</i> --> a&nbsp;b', ["bold", "a", "b"]],
    ["list and task markers", "1. one\n2) two\n- [x] three", ["one", "two", "three"]],
    ["tables", "| a | b |\n|---|:-:|\n| c | d |", ["a", "b", "c", "d"]],
    ["quotes", "> said\n> so", ["said", "so"]],
    ["front matter", "---\ntitle: no\n---\nbody", ["body"]],
    ["escapes", "\\*not emphasis\\*", ["not", "emphasis"]],
    ["a rule at the start", "---\n\nbody\n\n---\n\nmore", ["body", "more"]],
  ])("the Markdown figures do not count the markup of %s as words", (_case, text, words) => {
    expect(markdownWords(text)).toEqual(words);
  });

  it("the Markdown figures count no link or heading within code", () => {
    const prose = proseOf("`[a](b)`\n\n```\n# no\n[a](b)\n```", "markdown");
    expect(prose.markdown).toEqual({ headings: 0, links: 0, codeBlocks: 1 });
  });

  it("the markup is left alone in plain text", () => {
    expect(proseOf("# a", "plain").markdown).toBeUndefined();
  });
});

describe("reading time", () => {
  it.each([
    [0, 0],
    [1, 1],
    [200, 60],
    [1000, 300],
  ])("the reading time of %i words is %i seconds", (words, seconds) => {
    expect(readingSeconds(words)).toBe(seconds);
  });
});

describe("frequent terms", () => {
  it("frequent terms leave out stop words, numbers and single letters, and fold case and possessives", () => {
    const text = "The agent's task is the Task of an agent. It isn't 42, x or AGENT.";
    expect(frequentTerms(plainWords(text))).toEqual([
      { term: "agent", count: 3 },
      { term: "task", count: 2 },
    ]);
  });

  it("frequent terms are at most ten, ties in a fixed order", () => {
    const text = "m l k j i h g f e d c b a".replace(/\w/gu, "$&$&");
    expect(frequentTerms(plainWords(text)).map(({ term }) => term)).toEqual([
      "aa",
      "bb",
      "cc",
      "dd",
      "ee",
      "ff",
      "gg",
      "hh",
      "ii",
      "jj",
    ]);
  });

  it("frequent terms work in other scripts", () => {
    expect(frequentTerms(plainWords("東京へ行く。東京は大きい。"), 1)).toEqual([{ term: "東京", count: 2 }]);
  });

  it("frequent terms are cut when a word is very long", () => {
    expect(frequentTerms(plainWords("x".repeat(5000)))[0]?.term).toHaveLength(40);
  });
});

describe("readability", () => {
  it.each([
    ["a", 1],
    ["make", 1],
    ["table", 2],
    ["wanted", 2],
    ["walked", 1],
    ["boxes", 2],
    ["readability", 5],
    ["naïve", 1],
  ])("the readability estimates the syllables of %s as %i", (word, syllables) => {
    expect(readingEase(plainWords(word))?.syllables).toBe(syllables);
  });

  it("the readability gives simple text a higher score than involved text", () => {
    const simple = readingEase(plainWords("The cat sat on the mat. The dog ran to the red house."));
    const involved = readingEase(
      plainWords(
        "Interoperability considerations necessitate comprehensive organisational standardisation initiatives.",
      ),
    );
    expect(simple).toMatchObject({ score: 115.6, level: "very easy", syllables: 13 });
    expect(involved).toMatchObject({ level: "very difficult" });
  });

  it.each(["", "123 456", "🎉", "私は学生です。", "Мама мыла раму."])("the readability has no score for %j", (text) => {
    expect(readingEase(plainWords(text))).toBeUndefined();
  });
});

describe("hostile and big input", () => {
  const size = tries(1 << 18, 1 << 20);
  const hostile = [
    "[",
    "[a](",
    "![",
    "`",
    "_",
    "*",
    "<",
    "<!--",
    "<a ",
    "&a",
    "\n",
    " \n",
    "#",
    "# \n",
    "> ",
    "a\n-\n",
    "\\",
    "😀",
    "Mr. ",
  ];
  it.each(
    hostile.flatMap(
      (piece) =>
        [
          [piece, "plain"],
          [piece, "markdown"],
        ] as [string, TextFormat][],
    ),
  )(
    "much of %j is read as %s in reasonable time",
    (piece, format) => {
      const text = piece.repeat(size / piece.length);
      const figures = wordFigures(proseOf(`${text}x`, format));
      expect(figures.words).toBeGreaterThanOrEqual(0);
    },
    5_000,
  );

  it("1 MB of prose is counted exactly", () => {
    const text = "The quick brown fox jumps over the lazy dog. ".repeat(23_302);
    const figures = plainWords(text);
    expect([figures.words, figures.sentences]).toEqual([9 * 23_302, 23_302]);
    expect(sizeFigures(text).characters).toBe(text.length);
  });
});
