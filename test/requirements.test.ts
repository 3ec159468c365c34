import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, type TestContext } from "vitest";
import { numbers, type Requirement, readRequirements } from "./requirements.js";
import { numbers03, table03 } from "./requirements-0.3.js";
import { type Citation, citationsOf } from "./support/source-texts.js";

const requirements = readRequirements();
const requirements03 = readRequirements(table03);

/** Expands `1-3 7` to its numbers. */
const expand = (text: string): number[] =>
  text.split(" ").flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });

const folder = fileURLToPath(new URL(".", import.meta.url));
const citations: readonly Citation[] = globSync("**/*.test.ts", { cwd: folder }).flatMap((path) => {
  const source = readFileSync(join(folder, path), "utf8");
  return source.includes("// Requirements: ") ? citationsOf(path, source) : [];
});

const idsOf = (chapters: Readonly<Record<string, string>>, prefix: string): string[] =>
  Object.entries(chapters).flatMap(([chapter, text]) => expand(text).map((each) => `${prefix}${chapter}-${each}`));

/** Fails unless a test cites the requirement, or the row says why none does. Notes the tests in the report. */
async function expectShown({ id, because }: Requirement, { annotate }: Pick<TestContext, "annotate">): Promise<void> {
  const shown = citations.filter(({ ids }) => ids.includes(id));
  expect([...shown, ...because], `no test cites ${id}, and its row gives no reason`).not.toEqual([]);
  for (const { path, line, title } of shown) await annotate(`test/${path}:${line} ${title}`, "shown");
}

describe("the table of requirements", () => {
  it("the table of requirements has every row once, in order", () => {
    const wanted = idsOf(numbers, "V1-");
    expect(requirements.map(({ id }) => id)).toEqual(wanted);
    expect(wanted).toHaveLength(253);
  });

  it.for(requirements)("$id $level: $rule", expectShown);

  it("the table of requirements notices a requirement that no test cites, and a line that is no row", async ({
    annotate,
  }) => {
    expect(() => readRequirements("V1-SEND-2 MUST without a colon")).toThrow("no row of the table");
    const row = { id: "x", level: "MUST", rule: "y", because: [] };
    await expect(expectShown(row, { annotate })).rejects.toThrow("no test cites x");
  });
});

describe("the table of requirements of 0.3, and of speaking it beside 1.0", () => {
  it("the tables of 0.3 and of speaking it beside 1.0 have every row once, in order", () => {
    const wanted = idsOf(numbers03, "");
    expect(requirements03.map(({ id }) => id)).toEqual(wanted);
    expect(wanted).toHaveLength(127);
  });

  it.for(requirements03)("$id $level: $rule", expectShown);
});

describe("the citations in tests", () => {
  it("the citations in tests name requirements of the tables, and stand above a test or a group", () => {
    const known = new Set([...requirements, ...requirements03].map(({ id }) => id));
    const misplaced = citations.filter(({ ids, title }) => title === undefined || !ids.every((id) => known.has(id)));
    expect(misplaced).toEqual([]);
    expect(citations.length).toBeGreaterThan(requirements.length);
  });

  it("the citations in tests are read from the comments above tests, however these are written", () => {
    const source = [
      "// Requirements: A-1, A-2",
      "// Requirements: A-3",
      "// Why.",
      'it("runs", () => {});',
      'describe.each([1])("group %s", () => {',
      "  // Requirements: A-4",
      "  it.each(rows)(`is $" + "{x}`, () => {});",
      "  // Requirements: A-5",
      '  const text = "// Requirements: A-6";',
      "});",
    ].join("\n");
    expect(citationsOf("a.test.ts", source)).toEqual([
      { path: "a.test.ts", line: 1, ids: ["A-1", "A-2"], title: "runs" },
      { path: "a.test.ts", line: 2, ids: ["A-3"], title: "runs" },
      { path: "a.test.ts", line: 6, ids: ["A-4"], title: "is …" },
      { path: "a.test.ts", line: 8, ids: ["A-5"], title: undefined },
    ]);
  });
});
