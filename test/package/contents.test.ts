import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { beforeAll, expect, inject, it } from "vitest";
import { anchorsIn } from "../docs/pages.js";

let root = "";
beforeAll(() => {
  const folder = mkdtempSync(join(inject("workFolder"), "contents-"));
  execFileSync("tar", ["-xzf", inject("tarball"), "-C", folder]);
  root = join(folder, "package");
});

const files = (pattern: string): readonly string[] => globSync(pattern, { cwd: root });
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const manifest = (): Record<string, unknown> => JSON.parse(read("package.json"));

it("the package has these entry points, and each has its code and its types", () => {
  const { exports } = manifest() as { exports: Record<string, string | { types: string; default: string }> };
  const names = [
    "a2a-js",
    "auth",
    "client",
    "express",
    "fastify",
    "hono",
    "next",
    "package.json",
    "postgres",
    "sqlite",
    "testing",
  ];
  expect(new Set(Object.keys(exports))).toEqual(new Set([".", ...names.map((name) => `./${name}`)]));
  for (const target of Object.values(exports)) {
    for (const file of typeof target === "string" ? [target] : Object.values(target)) {
      expect(existsSync(join(root, file)), file).toBe(true);
    }
  }
});

it("the package describes itself to the registry", () => {
  const { description, keywords, license, engines } = manifest();
  expect({ description, license, engines }).toEqual({
    description: expect.stringContaining("A2A (Agent2Agent)"),
    license: "Apache-2.0",
    engines: { node: expect.stringMatching(/^>=22/) },
  });
  expect(keywords).toEqual(expect.arrayContaining(["a2a", "agent", "typescript"]));
  const pages = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md"];
  expect(new Set(files("*"))).toEqual(
    new Set([...pages, "package.json", "deploy", "dist", "docs", "examples", "proto"]),
  );
});

it("the package holds everything that its documents link to", () => {
  const pages = files("{*,docs/**/*}.md");
  expect(pages).toContain("docs/guides/mount.md");
  const broken: string[] = [];
  for (const page of pages) {
    for (const [, target = ""] of read(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [file = "", anchor] = target.split("#");
      const path = file === "" ? page : normalize(join(dirname(page), file));
      const isThere = existsSync(join(root, path));
      const hasAnchor = anchor === undefined || !isThere || anchorsIn(read(path)).has(anchor);
      if (!isThere || !hasAnchor) broken.push(`${page} → ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

it("the package holds every page that its code names", () => {
  const named = files("dist/**/*.js").flatMap((file) => read(file).match(/\bdocs\/(?:[\w-]+\/)?[\w-]+\.md\b/g) ?? []);
  expect(named.filter((page) => !existsSync(join(root, page)))).toEqual([]);
});

it("the package is written in the JavaScript of the oldest Node that it supports", () => {
  const newer = files("dist/**/*.js").filter((file) => /^\s*(?:await )?using \w+ = /m.test(read(file)));
  expect(newer).toEqual([]);
});

it("the package has a source map with its source for each file of its own code", () => {
  const code = files("dist/**/*.js").filter((file) => !file.startsWith("dist/packages/"));
  // A file that only passes names on has none, nor has what the bundler itself adds.
  const own = code.filter(
    (file) => !/^(?:(?:import|export) [^;]*;\s*)*$|^\/\/ \\0@oxc-project\+runtime/.test(read(file)),
  );
  expect(own.length).toBeGreaterThan(40);
  for (const file of own) {
    const map = JSON.parse(read(`${file}.map`)) as { sourcesContent?: (string | null)[]; sources: string[] };
    expect(map.sourcesContent?.length, file).toBe(map.sources.length);
    expect(
      map.sourcesContent?.every((source) => typeof source === "string"),
      file,
    ).toBe(true);
  }
});

it("the package holds the code of these packages, with their licenses, and loads no other copy", () => {
  const code = files("dist/packages/*.js").map(read).join("\n");
  const held = Array.from(code.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm), ([, name = ""]) => name);
  expect(new Set(held)).toEqual(
    new Set(["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-node", "kysely"]),
  );
  const licenses = read("dist/packages/LICENSES.txt");
  for (const line of [
    "@bufbuild/protobuf 2.",
    "Buf Technologies",
    "Google Inc.",
    "kysely 0.",
    "Permission is hereby granted",
  ])
    expect(licenses).toContain(line);
  const loading = /^(?:import|export) [^;]* from "(?:@bufbuild\/protobuf|@connectrpc\/[\w-]+|kysely)["/]/m;
  expect(files("dist/**/*.js").filter((file) => loading.test(read(file)))).toEqual([]);
  // The types of messages are those of protobuf-es, which a program may use for them.
  expect(Object.keys(manifest()["dependencies"] ?? {}).filter((name) => held.includes(name))).toEqual([
    "@bufbuild/protobuf",
  ]);
});

it("the package holds no tests but the example of tests, and no databases", () => {
  const all = files("**/*").filter((file) => statSync(join(root, file)).isFile());
  expect(all.filter((file) => /\.(?:test\.\w+|db|env|log)$|node_modules|\.trivium\//.test(file))).toEqual([
    "examples/testing/agent.test.ts",
  ]);
});
