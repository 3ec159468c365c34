import { describe, expect, it } from "vitest";
import { errorCodes, errorTable } from "../../src/protocol/errors.js";
import { defaultLimits } from "../../src/server/limits.js";
import { read } from "./pages.js";

function written(name: string, value: number | undefined): string {
  if (value === undefined) return "none";
  if (name.endsWith("Ms") && value >= 86_400_000) return `${value / 86_400_000} days`;
  if (name.endsWith("Ms")) return `${value / 1000} s`;
  if (!name.endsWith("Bytes")) return value.toLocaleString("en");
  return value >= 1 << 20 ? `${value / (1 << 20)} MiB` : `${value / 1024} KiB`;
}

describe("the reference", () => {
  it.each(Object.entries(defaultLimits))(
    "docs/reference/limits.md has the limit %s with its default",
    (name, value) => {
      const row = new RegExp(`^\\| \`${name}\` \\| (.*?) \\| (.+?) \\|$`, "m").exec(read("docs/reference/limits.md"));
      expect(row?.[1]).toBe(written(name, value));
      expect(row?.[2]).not.toBe("");
    },
  );

  it.each(errorCodes)("docs/reference/errors.md describes the error %s as the table does", (code) => {
    const { reason, jsonRpc, grpc, http } = errorTable[code];
    expect(read("docs/reference/errors.md")).toContain(
      `| \`${code}\` | \`${reason}\` | ${jsonRpc} | ${grpc} | ${http} |`,
    );
  });
});
