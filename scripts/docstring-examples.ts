/**
 * Copies examples into the docstrings of the entry points: each `// #region NAME` of `test/docs/docstrings/ENTRY.ts` becomes
 * the `@example` of what `trivium/ENTRY` (`trivium.ts`: `trivium`) exports as `NAME`. Overloads take the regions of their name in order.
 *
 *     node scripts/docstring-examples.ts [--check]
 *
 * With `--check` nothing is written, and it leaves with 1 when a docstring differs from its example. A function or class
 * without an example is a failure, and so is a region that no name has.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { type Declaration, declarationOf, moduleAt } from "./reference/declarations.ts";
import { entryFiles } from "./reference/entries.ts";
import { type DocComment, proseLines } from "./reference/text.ts";

interface Edit extends DocComment {
  readonly file: string;
  readonly text: string;
}

const folder = "test/docs/docstrings";
const problems: string[] = [];
const edits: Edit[] = [];
const entries = entryFiles();
const regionsOf = new Map(
  globSync(`${folder}/*.ts`).map((file) => {
    const entry = basename(file, ".ts");
    return [entry === "trivium" ? entry : `trivium/${entry}`, { file, regions: readRegions(file) }] as const;
  }),
);
const done = new Set<Declaration>();

for (const [entry, { file, regions }] of regionsOf) {
  const entryFile = entries.get(entry);
  for (const [name, examples] of regions) {
    const isExported = entryFile !== undefined && moduleAt(entryFile).exports.has(name);
    const declaration = isExported ? declarationOf(entryFile, name) : undefined;
    if (declaration === undefined || declaration.comments.length === 0) {
      problems.push(`${file}: ${entry} exports no ${name} with a docstring`);
      continue;
    }
    done.add(declaration);
    edits.push(...planEdits(declaration, examples));
  }
}
for (const [entry, file] of entries) {
  for (const name of moduleAt(file).exports) {
    const declaration = declarationOf(file, name);
    if (declaration === undefined || done.has(declaration) || !isCalled(declaration)) continue;
    problems.push(`${entry}: ${name} has no example: add a region of that name to ${folder}/`);
    done.add(declaration);
  }
}

const stale = new Set(edits.map(({ file }) => file));
if (process.argv.includes("--check")) {
  for (const file of stale) problems.push(`${file}: an example has changed: run npm run reference`);
} else {
  for (const file of stale) writeFileSync(file, applyEdits(file));
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exitCode = 1;

/** The regions of a file by name, each without the indentation of its first line. */
function readRegions(file: string): ReadonlyMap<string, readonly string[]> {
  const regions = new Map<string, string[]>();
  for (const [, name = "", body = ""] of readFileSync(file, "utf8").matchAll(
    /^ *\/\/ #region (\w+)\n([\s\S]*?)\n *\/\/ #endregion$/gm,
  )) {
    const indent = /^ */.exec(body)?.[0].length ?? 0;
    const code = body.split("\n").map((line) => line.slice(indent));
    regions.set(name, [...(regions.get(name) ?? []), code.join("\n")]);
  }
  return regions;
}

/** Each docstring takes one example, the last one all that remain. */
function planEdits({ file, comments }: Declaration, examples: readonly string[]): readonly Edit[] {
  const source = readFileSync(file, "utf8");
  return comments.flatMap((comment, index) => {
    const own = examples.slice(index, index === comments.length - 1 ? undefined : index + 1);
    const text = docText(proseLines(comment), own);
    return source.slice(comment.start, comment.end) === text ? [] : [{ ...comment, file, text }];
  });
}

function docText(prose: readonly string[], examples: readonly string[]): string {
  const text = prose.join("\n").trim().split("\n");
  if (examples.length === 0 && text.length === 1) return `/** ${text[0]} */`;
  const blocks = examples.flatMap((example) => ["", "@example", "```ts", ...example.split("\n"), "```"]);
  return ["/**", ...[...text, ...blocks].map((line) => ` * ${line}`.trimEnd()), " */"].join("\n");
}

function applyEdits(file: string): string {
  return edits
    .filter((edit) => edit.file === file)
    .toSorted((a, b) => b.start - a.start)
    .reduce(
      (source, { start, end, text }) => source.slice(0, start) + text + source.slice(end),
      readFileSync(file, "utf8"),
    );
}

/** Whether users call it: a function, a constant that is one, or a class. */
function isCalled({ kind, signatures }: Declaration): boolean {
  return (
    kind === "function" || kind === "class" || (kind === "const" && /Constructor$|Factory$/.test(signatures[0] ?? ""))
  );
}
