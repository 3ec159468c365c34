import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commitOf } from "../../bench/commit.ts";

let folder: string;
let first: string;
let clone: string;

const git = (...args: readonly string[]): string => execFileSync("git", args, { encoding: "utf8" }).trim();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "trivium-commit-"));
  const origin = join(folder, "origin");
  clone = join(folder, "clone");
  git("init", "--quiet", origin);
  const author = ["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"];
  for (const message of ["First", "Second"]) {
    git("-C", origin, ...author, "commit", "--quiet", "--allow-empty", "-m", message);
  }
  first = git("-C", origin, "rev-parse", "HEAD~1");
  git("clone", "--quiet", "--depth", "1", `file://${origin}`, clone);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the commit of the baseline", () => {
  it("the commit of the baseline is found by its name, in full or not", () => {
    expect(commitOf(join(folder, "origin"), first.slice(0, 12))).toBe(first);
  });

  it("the commit of the baseline is asked for with the remedy when the clone is shallow", () => {
    const message = `commit ${first} is not in this clone, which is shallow: git fetch --unshallow brings it`;
    expect(() => commitOf(clone, first)).toThrow(message);
  });

  it("the commit of the baseline is asked for with the remedy when the clone lacks it, or is none", () => {
    const unknown = "0".repeat(40);
    expect(() => commitOf(join(folder, "origin"), unknown)).toThrow(
      /is not in this clone: git fetch origin 0+ brings it/,
    );
    expect(() => commitOf(folder, unknown)).toThrow(/is no git clone/);
  });
});
