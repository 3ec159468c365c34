import { expect, it } from "vitest";
import { parseDuration } from "../../src/cli/option-values.js";

it.each([
  ["500ms", 500],
  ["45s", 45_000],
  ["90m", 5_400_000],
  ["12h", 43_200_000],
  ["30d", 2_592_000_000],
  ["0s", 0],
])("reads %s", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(["", "30", "d", "1.5h", "-1s", "1 d", "1w", "1D", "9999999999s"])("takes %j for no time", (text) => {
  expect(() => parseDuration(text)).toThrow("A time is a whole number with its unit");
});
