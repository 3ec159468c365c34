import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parseSource } from "../support/source-file.js";

it("the flows of OAuth are loaded when they are needed, and by one file", () => {
  const files = globSync("src/auth/*.ts").map((path) => parseSource(path, readFileSync(path, "utf8")));
  const imports = files.flatMap(({ path, imports: specifiers }) =>
    specifiers
      .filter(({ specifier, kind }) => specifier.includes("/oauth/") && kind !== "type")
      .map(({ kind, specifier }) => `${path} ${kind} ${specifier}`),
  );
  expect(imports).toEqual(["src/auth/scheme-part.ts lazy ./oauth/token-part.js"]);
});

it("nothing of Node is imported by credentials", () => {
  const files = [...globSync("src/auth/*.ts"), ...globSync("src/auth/oauth/*.ts")].map((path) =>
    parseSource(path, readFileSync(path, "utf8")),
  );
  expect(files.length).toBeGreaterThan(10);
  expect(files.flatMap(({ imports }) => imports).filter(({ specifier }) => specifier.startsWith("node:"))).toEqual([]);
});
