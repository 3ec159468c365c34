import { expect, it } from "vitest";
import { parseDuration, parseSize } from "../../src/cli/option-values.js";

it.each([
  ["500ms", 500],
  ["45s", 45_000],
  ["90m", 5_400_000],
  ["12h", 43_200_000],
  ["30d", 2_592_000_000],
  ["0s", 0],
])("parseDuration reads %s", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

it.each(["", "30", "d", "1.5h", "-1s", "1 d", "1w", "1D", "9999999999s"])(
  "parseDuration takes %j for no time",
  (text) => {
    expect(() => parseDuration(text)).toThrow("A time is a whole number with its unit");
  },
);

it.each([
  ["0", 0],
  ["1000", 1000],
  ["500k", 512_000],
  ["64M", 67_108_864],
  ["2g", 2_147_483_648],
])("parseSize reads the size %s", (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

it.each(["", "k", "1.5m", "-1", "1 m", "1t", "1kb", "9999999999"])("parseSize takes %j for no size", (text) => {
  expect(() => parseSize(text)).toThrow("A size is a whole number of bytes");
});
