import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/server/limits.js";
import { documents, read, withoutBlocks } from "./pages.js";

// "15 seconds after its last heartbeat (`instanceTtlMs`)" is what the limit is by default.

const words = ["no", "a", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const units: Readonly<Record<string, number>> = {
  ...{ s: 1_000, second: 1_000, seconds: 1_000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 },
  ...{ KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 },
};
const limits: ReadonlyMap<string, unknown> = new Map(Object.entries(defaultLimits));

const mention = new RegExp(
  `(?<![\\w.-])(?:(\\d[\\d,]*) (\\w+)|(${words.slice(1).join("|")}) (${Object.keys(units).join("|")}))\\b[^.|\`()\\d]{0,60} \\((?:limit )?\`(\\w+)\`\\)`,
  "g",
);

const textOf = (page: string): string => withoutBlocks(read(page)).replaceAll(/(?<!\n)\n(?!\n)\s*/g, " ");

const mentions = documents.flatMap((page) =>
  [...textOf(page).matchAll(mention)].flatMap(([text, digits, counted = "", word = "", unit = counted, name = ""]) =>
    typeof limits.get(name) === "number" ? [{ page, text, name, number: digits ?? word, unit }] : [],
  ),
);

/** In the unit of the option: milliseconds, bytes or a count. */
function amount(number: string, unit: string): number {
  const count = words.includes(number) ? words.indexOf(number) : Number(number.replaceAll(",", ""));
  return count * (units[unit] ?? 1);
}

describe("the defaults of limits", () => {
  it.each(mentions)("the default of $name is as $page says: $text", ({ name, number, unit }) => {
    expect(amount(number, unit)).toBe(limits.get(name));
  });

  it("the defaults of limits are in many sentences, and are read as numbers and as words", () => {
    expect(mentions.length).toBeGreaterThan(20);
    expect([amount("five", "seconds"), amount("10,000", "unfinished"), amount("4", "MiB")]).toEqual([
      5_000, 10_000, 4_194_304,
    ]);
  });
});
