import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, expect, it } from "vitest";
import { errorCodes, errorTable } from "../src/protocol/errors.js";
import { defaultLimits } from "../src/server/limits.js";

const read = (file: string): string => readFileSync(file, "utf8");

function written(name: string, value: number | undefined): string {
  if (value === undefined) return "none";
  if (name.endsWith("Ms") && value >= 86_400_000) return `${value / 86_400_000} days`;
  if (name.endsWith("Ms")) return `${value / 1000} s`;
  if (!name.endsWith("Bytes")) return value.toLocaleString("en");
  return value >= 1 << 20 ? `${value / (1 << 20)} MiB` : `${value / 1024} KiB`;
}

describe("the documents", () => {
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

  it.each(pages())("every link of %s leads to a file, and to a heading of it", (file) => {
    for (const [, target = ""] of read(file).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path, heading] = target.split("#");
      const place = path === "" ? file : posix.join(posix.dirname(file), path ?? "");
      expect(existsSync(place), `${file} → ${target}`).toBe(true);
      if (heading !== undefined) expect(headingsOf(place), `${file} → ${target}`).toContain(heading);
    }
  });
});

function pages(): string[] {
  return [...globSync("*.md"), ...globSync("docs/**/*.md"), ...globSync("test/**/README.md")].filter(
    (file) => !file.includes("node_modules"),
  );
}

/** The anchors that GitHub gives to the headings of a page. */
function headingsOf(file: string): string[] {
  return [...read(file).matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
