import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { steps } from "../bench/steps/step-table.ts";
import { longest, slow } from "../vitest.config.js";
import { rolling } from "../vitest.replicas.config.js";
import sweeps from "../vitest.sweeps.config.js";
import { namedPaths } from "./support/architecture.js";

// Lists of files that nothing else compares with the files: a row whose file was renamed would silently do nothing.

const root = fileURLToPath(new URL("..", import.meta.url));

interface KnipWorkspace {
  readonly entry: readonly string[];
}
const knip = JSON.parse(readFileSync(`${root}/knip.json`, "utf8")) as {
  readonly workspaces: Readonly<Record<string, KnipWorkspace>>;
};

const lists: Readonly<Record<string, readonly string[]>> = {
  "the slow tests": slow,
  "the tests that run first": longest.map((name) => `test/**/${name}.test.ts`),
  "the sweeps": sweeps.test?.include ?? [],
  "the rolling restarts": rolling,
  "the rules of imports": namedPaths,
  // A file may be named by its beginning, and a function follows its file. `bench/` and packages are no rooms.
  "the steps of a call": steps
    .flatMap(({ code }) => code.map((start) => start.split(":")[0] ?? ""))
    .filter((start) => !/^(?:bench|@bufbuild)\//.test(start))
    .map((start) => `src/${start}*`),
  "the entries of knip": Object.entries(knip.workspaces).flatMap(([folder, { entry }]) =>
    entry.map((pattern) => `${folder}/${pattern}`),
  ),
};

/** Each name of a pattern with alternatives, so that none of them may be missing. */
function expand(pattern: string): readonly string[] {
  const found = /^([^{]*)\{((?:[^{}]|\{[^{}]*\})*)\}(.*)$/.exec(pattern);
  if (found === null) return [pattern];
  const [, before = "", inner = "", after = ""] = found;
  return splitOutside(inner).flatMap((name) => expand(`${before}${name}${after}`));
}

/** The alternatives of a list, of which some have lists of their own. */
function splitOutside(text: string): readonly string[] {
  const parts = [""];
  let depth = 0;
  for (const char of text) {
    if (char === "{") depth += 1;
    if (char === "}") depth -= 1;
    if (char === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts;
}

it.each(Object.entries(lists))("each row of %s names something that exists", (_, patterns) => {
  expect(patterns.length).toBeGreaterThan(0);
  const missing = patterns.flatMap(expand).filter((pattern) => globSync(pattern, { cwd: root }).length === 0);
  expect(missing).toEqual([]);
});
