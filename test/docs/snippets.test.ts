import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { parseSync } from "rolldown/utils";
import { beforeAll, describe, expect, it } from "vitest";
import { blocksOf, documents, quotedFile, read } from "./pages.js";
import { ambient, programsOf } from "./programs.js";

// One run of the compiler over all pages: each program of a page is a file whose lines are those of the page. What a page
// quotes from an example is compiled with the example.

const folder = ".cache/docs";

const config = {
  extends: "../../tsconfig.json",
  compilerOptions: {
    noUnusedLocals: false,
    noUnusedParameters: false,
    allowUnreachableCode: true,
    allowUnusedLabels: true,
  },
  exclude: [],
  include: ["*.ts", "../../test/docs/ambient.d.ts"],
};

const programs = documents.flatMap((page) =>
  programsOf(blocksOf(page).filter((block) => block.language === "ts" && quotedFile(block) === undefined)),
);
const fileOf = (page: string, index: number): string => `${page.replaceAll("/", "__")}.${index}.ts`;

let problems: readonly string[] = [];
beforeAll(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/tsconfig.json`, JSON.stringify(config));
  for (const [index, { page, source }] of programs.entries()) writeFileSync(`${folder}/${fileOf(page, index)}`, source);
  problems = compile().map((line) => {
    const place = /^\.cache\/docs\/(.+?)\.\d+\.ts\((\d+),\d+\): (.*)$/.exec(line);
    return place === null ? line : `${place[1]?.replaceAll("__", "/")}:${place[2]} ${place[3]}`;
  });
});

function compile(): readonly string[] {
  try {
    execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", folder, "--pretty", "false"]);
    return [];
  } catch (error) {
    const { stdout } = error as { readonly stdout: Buffer };
    // A line that is indented explains the one before it.
    return String(stdout).trimEnd().replaceAll(/\n\s+/g, " ").split("\n");
  }
}

function parseJson(code: string): void {
  try {
    JSON.parse(code);
  } catch {
    for (const line of code.trim().split("\n")) JSON.parse(line);
  }
}

describe("the snippets", () => {
  it.each([...new Set(programs.map(({ page }) => page))])("the snippets of %s compile", (page) => {
    expect(problems.filter((line) => line.startsWith(`${page}:`))).toEqual([]);
  });

  it.each(documents.filter((page) => blocksOf(page).some(({ language }) => language === "json")))(
    "the snippets of %s in JSON are JSON, or lines of it",
    (page) => {
      for (const { language, code, line } of blocksOf(page)) {
        if (language === "json") expect(() => parseJson(code), `${page}:${line}`).not.toThrow();
      }
    },
  );

  it.each(documents.filter((page) => blocksOf(page).some(({ language }) => language === "js")))(
    "the snippets of %s in JavaScript have no mistakes of syntax",
    (page) => {
      for (const { language, code, line } of blocksOf(page)) {
        if (language !== "js") continue;
        const { errors } = parseSync(`${page}.js`, code, { lang: "js", sourceType: "module" });
        expect(errors, `${page}:${line}`).toEqual([]);
      }
    },
  );

  it("the snippets have a value for each of their names when they run, in test/package/given.mjs", () => {
    const names = [...read("test/package/given.mjs").matchAll(/^ {2}(\w+)[,:]/gm)].map(([, name]) => name);
    expect(new Set(names)).toEqual(ambient);
  });

  it("the snippets need no names beside those of test/docs/ambient.d.ts, which compile", () => {
    expect(problems.filter((line) => !documents.some((page) => line.startsWith(`${page}:`)))).toEqual([]);
  });
});
