import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import type { Verdict } from "../../bench/verdict.ts";
import { owned } from "../support/owned.js";

interface Results {
  readonly options: object;
  readonly rows: readonly {
    readonly name: string;
    readonly ours: number;
    readonly before: number;
    readonly ratio: { readonly before: { readonly ratio: number; readonly interval: { low: number; high: number } } };
    readonly budget: readonly Verdict[];
    readonly error?: string;
  }[];
}

const root = fileURLToPath(new URL("../..", import.meta.url));

const minutes = 5 * 60_000;

it("a copy of the build, measured beside it, costs about the same", { timeout: minutes }, async () => {
  mkdirSync(`${root}.cache`, { recursive: true });
  // Inside the project, so that the copy's imports resolve.
  const folder = mkdtempSync(`${root}.cache/bench-`);
  try {
    const before = `${folder}/dist`;
    cpSync(`${root}dist`, before, { recursive: true });
    const args = ["bench/run.ts", "--before", before, "--quick", "--filter", "^JSON-RPC message reply$"];
    const child = owned(spawn(process.execPath, args, { cwd: root }));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const file = /written: (.+)/.exec(stdout)?.[1];
    expect(file, `${stdout}${stderr}`).toBeDefined();
    const { options, rows }: Results = JSON.parse(readFileSync(file ?? "", "utf8"));
    rmSync(file ?? "");
    expect(options).toEqual({ rounds: 6, quick: true, sides: ["ours", "before"], before });
    expect(rows.map(({ name, error }) => ({ name, error }))).toEqual([{ name: "JSON-RPC message reply" }]);
    const { low = 0, high = 0 } = rows[0]?.ratio.before.interval ?? {};
    // On a busy machine too, a build is never measured a third slower or faster than itself.
    expect(low).toBeLessThan(1.33);
    expect(high).toBeGreaterThan(0.75);
    expect(rows[0]?.budget[0]).toMatchObject({ budget: "≤ 1.03 × before" });
    expect(stdout).toMatch(
      /row +unit +ours +before +× before \(95 %\) +budget\n\nJSON-RPC message reply +µs +[\d.]+ +[\d.]+ /,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
