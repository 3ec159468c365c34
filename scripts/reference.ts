/**
 * Makes the tables of `docs/reference/` from the source: types with their docstrings, the error table, and the index of names.
 *
 *     node scripts/reference.ts [--check]
 *
 * A page is written by hand, except between two comments: `<!-- reference A, B as C, D from src/d.ts -->` makes a section for each name,
 * `reference:table` a row, `reference:errors`, `reference:log`, `reference:metrics` and `reference:names` their tables; `<!-- /reference -->` ends it. `<!-- explains A, B -->`
 * names what a page explains by hand. With `--check` nothing is written, and it leaves with 1 when a page is not what the source
 * says. A name of an entry point that no page has is a failure.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { type Declaration, declarationOf, moduleAt } from "./reference/declarations.ts";
import { entryFiles } from "./reference/entries.ts";
import { errorRows } from "./reference/errors.ts";
import { logRows } from "./reference/log.ts";
import { metricRows } from "./reference/metrics.ts";
import { rows, section } from "./reference/render.ts";

interface NamedDeclaration {
  readonly name: string;
  /** What the page calls it. */
  readonly title: string;
  readonly declaration: Declaration;
}

const region = /^<!-- reference(?::(\w+))?(?: ([^>]*?))? -->\n[\s\S]*?^<!-- \/reference -->$/gm;
/** Names that a page explains by hand. */
const explanation = /^<!-- explains (.*?) -->$/gm;
const entries = entryFiles();
const pages = globSync("docs/reference/*.md").toSorted();
const places = new Map<string, string>();
const stale: string[] = [];
const missingNames = new Set<string>();

for (const page of pages) {
  const text = readFileSync(page, "utf8");
  for (const [, list = ""] of text.matchAll(explanation)) {
    for (const name of list.split(/,\s*/)) places.set(name, basename(page));
  }
  for (const [, , list = ""] of text.matchAll(region)) {
    for (const each of namesIn(list)) {
      for (const name of [each.name, each.title])
        places.set(name, `${basename(page)}#${each.title.toLowerCase().replaceAll(".", "")}`);
    }
  }
}

for (const page of pages) {
  const text = readFileSync(page, "utf8");
  const filledPage = text.replaceAll(region, (_, kind: string | undefined, list: string | undefined) => {
    const head = `reference${kind === undefined ? "" : `:${kind}`}${list === undefined ? "" : ` ${list}`}`;
    return `<!-- ${head} -->\n\n${content(kind, list ?? "")}\n\n<!-- /reference -->`;
  });
  if (filledPage === text) continue;
  stale.push(page);
  if (!process.argv.includes("--check")) writeFileSync(page, filledPage);
}
for (const problem of missingNames) process.stderr.write(`${problem}\n`);
if (missingNames.size > 0) process.exitCode = 1;
if (stale.length > 0 && process.argv.includes("--check")) {
  process.stderr.write(`${stale.join(", ")}: the source has changed: run npm run reference\n`);
  process.exitCode = 1;
}

function content(kind: string | undefined, list: string): string {
  switch (kind) {
    case undefined:
      return namesIn(list)
        .map(({ declaration, title }) => section(declaration, title, places))
        .join("\n\n");
    case "table":
      return rows(namesIn(list).map(({ declaration }) => declaration));
    case "errors":
      return errorRows();
    case "log":
      return logRows();
    case "metrics":
      return metricRows();
    case "names":
      return index();
    default:
      throw new Error(`no such part of the reference: ${kind}`);
  }
}

/** `A, B as C, D from src/d.ts`: names of the entry points, or of the file that is given. */
function namesIn(list: string): readonly NamedDeclaration[] {
  if (list === "") return [];
  return list.split(/,\s*/).map((item) => {
    const [, name = "", title = name, file] = /^(\w+)(?: as ([\w.]+))?(?: from (\S+))?$/.exec(item) ?? [];
    const files = file === undefined ? [...entries.values()] : [file];
    const declaration = files.map((each) => declarationOf(each, name)).find((match) => match !== undefined);
    if (declaration === undefined) throw new Error(`no entry point has ${item}: say from which file it is`);
    return { name, title, declaration };
  });
}

/** Every name of the entry points, where it is imported from and where it is explained. */
function index(): string {
  const from = new Map<string, string[]>();
  for (const [entry, file] of entries) {
    for (const name of moduleAt(file).exports) from.set(name, [...(from.get(name) ?? []), entry]);
  }
  const lines = [...from]
    .toSorted(([a], [b]) => a.localeCompare(b, "en"))
    .map(([name, modules]) => {
      const place = places.get(name);
      if (place === undefined)
        missingNames.add(`no page of docs/reference/ has ${name}: add it to a list in <!-- reference … -->`);
      return `| [\`${name}\`](${place}) | ${modules.map((module) => `\`${module}\``).join(", ")} |`;
    });
  return ["| name | imported from |", "|---|---|", ...lines].join("\n");
}
