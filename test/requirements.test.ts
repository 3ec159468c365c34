import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { numbers, type Requirement, readRequirements } from "./requirements.js";
import { numbers03, table03 } from "./requirements-0.3.js";
import { testTitlesOf } from "./support/source-texts.js";

const requirements = readRequirements();
const requirements03 = readRequirements(table03);

/** Expands `1-3 7` to its numbers. */
const expand = (text: string): number[] =>
  text.split(" ").flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });

const titles = new Map<string, readonly string[]>();

function titlesOf(file: string): readonly string[] {
  const cachedTitles = titles.get(file);
  if (cachedTitles !== undefined) return cachedTitles;
  const url = new URL(`${file}.test.ts`, import.meta.url);
  const ownTitles = existsSync(url) ? testTitlesOf(url.pathname, readFileSync(url, "utf8")) : [];
  titles.set(file, ownTitles);
  return ownTitles;
}

const idsOf = (chapters: Readonly<Record<string, string>>, prefix: string): string[] =>
  Object.entries(chapters).flatMap(([chapter, text]) => expand(text).map((each) => `${prefix}${chapter}-${each}`));

/** Fails unless a row names existing tests or says why it has none. */
function expectShown({ shown, because }: Requirement): void {
  expect(shown.length + because.length).toBeGreaterThan(0);
  for (const citation of shown) {
    const [, file = "", beginning = ""] = /^([^ :]+): (.{8,})$/.exec(citation) ?? [];
    const fitting = titlesOf(file).filter((text) => text.startsWith(beginning));
    expect(fitting, `no test is named: ${citation}`).not.toEqual([]);
  }
}

describe("the table of requirements", () => {
  it("has every row once, in order", () => {
    const wanted = idsOf(numbers, "V1-");
    expect(requirements.map(({ id }) => id)).toEqual(wanted);
    expect(wanted).toHaveLength(253);
  });

  it.each(requirements)("$id $level: $rule", expectShown);

  it("notices a test that does not exist, and a line that is no row", () => {
    expect(titlesOf("requirements")).toContain("has every row once, in order");
    expect(titlesOf("nowhere")).toEqual([]);
    expect(() => readRequirements("V1-SEND-2 MUST without a colon")).toThrow("no row of the table");
    const row = { id: "x", level: "MUST", rule: "y", because: [] };
    expect(() => expectShown({ ...row, shown: [] })).toThrow();
    expect(() => expectShown({ ...row, shown: ["requirements: a title that nobody has"] })).toThrow("no test is named");
  });
});

describe("the table of requirements of 0.3, and of speaking it beside 1.0", () => {
  it("has every row of both once, in order", () => {
    const wanted = idsOf(numbers03, "");
    expect(requirements03.map(({ id }) => id)).toEqual(wanted);
    expect(wanted).toHaveLength(127);
  });

  it.each(requirements03)("$id $level: $rule", expectShown);
});
