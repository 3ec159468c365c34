/**
 * `npm run bench:baseline`: builds the revision that `--before` compares with, in `.cache/baseline`, and prints the path of
 * its `dist` folder. It has dependencies of its own, so that what a newer one costs shows as well. Done once; a folder that
 * was left half made is made anew.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { commitOf } from "./commit.ts";

const baseline = "a46189b312cdf13956b4d296443401506ccc5a00";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}.cache/baseline`;
const stamp = `${folder}/.commit`;

try {
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== baseline) build(commitOf(root, baseline));
  process.stdout.write(`${folder}/dist\n`);
} catch (error) {
  process.stderr.write(`the baseline cannot be built: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function build(commit: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = `${folder}.tar`;
  execFileSync("git", ["archive", "--format=tar", `--output=${archive}`, commit], { cwd: root });
  run("tar", "-xf", archive, "-C", folder);
  rmSync(archive);
  // No install scripts: they fetch tools that a build does not take, such as another Node.
  run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund");
  run(process.execPath, "node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json");
  writeFileSync(stamp, baseline);
}

/** What a command prints goes to standard error: standard output is for the path alone. */
function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { cwd: folder, stdio: ["ignore", process.stderr, process.stderr] });
}
