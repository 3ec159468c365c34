import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTimestamp, isTimestampInRange, parseTimestamp } from "../../src/protocol/timestamp.js";

describe("parseTimestamp", () => {
  // Requirements: V1-TIME-5
  it.each([
    ["2026-05-02T08:15:30Z", "2026-05-02T08:15:30.000Z"],
    ["2026-05-02T08:15:30.12Z", "2026-05-02T08:15:30.120Z"],
    ["2026-05-02T08:15:30.123456789Z", "2026-05-02T08:15:30.123456789Z"],
    ["2026-05-02T10:15:30+02:00", "2026-05-02T08:15:30.000Z"],
    ["2026-05-01T22:45:30.5-09:30", "2026-05-02T08:15:30.500Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"],
    ["1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500Z"],
  ])("parseTimestamp reads %s as %s", (text, normal) => {
    const timestamp = parseTimestamp(text);
    expect(timestamp && formatTimestamp(timestamp)).toBe(normal);
  });

  it.each([
    "",
    "now",
    "2026-05-02",
    "2026-05-02T08:15:30",
    "2026-05-02 08:15:30Z",
    "2026-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2026-05-02T24:00:00Z",
    "2026-05-02T08:60:00Z",
    "2026-05-02T08:15:60Z",
    "2026-05-02T08:15:30.Z",
    "2026-05-02T08:15:30.1234567890Z",
    "2026-05-02T08:15:30+24:00",
    "2026-05-02T08:15:30+0200",
    "0000-12-31T23:59:59Z",
    "0001-01-01T00:00:00+00:01",
    "9999-12-31T23:59:59-00:01",
    "+002026-05-02T08:15:30Z",
    "2026-05-02T08:15:30Z\n",
  ])("parseTimestamp refuses %j", (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

// Requirements: V1-TIME-5
it("every timestamp is read as it was written", () => {
  const seconds = fc.bigInt(-62_135_596_800n, 253_402_300_799n);
  fc.assert(
    fc.property(seconds, fc.nat(999_999_999), (second, nanos) => {
      const timestamp = { $typeName: "google.protobuf.Timestamp" as const, seconds: second, nanos };
      expect(parseTimestamp(formatTimestamp(timestamp))).toEqual(timestamp);
    }),
  );
});

it.each([
  [253_402_300_800n, 0],
  [-62_135_596_801n, 0],
  [0n, -1],
  [0n, 1_000_000_000],
])("a timestamp has no form for %d seconds and %d nanos", (seconds, nanos) => {
  const timestamp = { $typeName: "google.protobuf.Timestamp" as const, seconds, nanos };
  expect(isTimestampInRange(timestamp)).toBe(false);
  expect(() => formatTimestamp(timestamp)).toThrow(RangeError);
});
