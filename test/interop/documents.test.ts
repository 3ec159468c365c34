import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { cases } from "./cases.js";
import { triedRows } from "./old-js-and-go-table.js";
import { triedRows as triedPythons } from "./old-python-table.js";
import { olderRows } from "./older-table.js";
import { olderAgents } from "./sdk-agents.js";

const read = (file: string): string => readFileSync(new URL(file, import.meta.url), "utf8");
const page = read("../../docs/appendix/interop.md");

/** The file that pins each SDK. */
const releases = [
  { sdk: "a2a-sdk", release: /^a2a-sdk==(.+)$/m.exec(read("python/requirements.txt"))?.[1] },
  { sdk: "@a2a-js/sdk", release: /"@a2a-js\/sdk": "(.+)"/.exec(read("js/package.json"))?.[1] },
  {
    sdk: "github.com/a2aproject/a2a-go/v2",
    release: /^\tgithub\.com\/a2aproject\/a2a-go\/v2 v(.+)$/m.exec(read("go/go.mod"))?.[1],
  },
];

describe("docs/appendix/interop.md", () => {
  it.each(releases)("the table of interop names the release of $sdk that the tests run", ({ sdk, release }) => {
    expect(page).toContain(`\`${sdk}\` | ${release} |`);
  });

  it("the table of interop lists the tested peers of older versions, by role and binding", () => {
    for (const row of [...triedRows(), ...triedPythons()]) expect(page).toContain(row);
  });

  it("the table of interop lists the results of agents on older releases of 1.0, with the releases", () => {
    for (const row of olderRows()) expect(page).toContain(row);
    for (const { name, release } of olderAgents) {
      const pins = name === "Go" ? read(`go/older/v${release}.mod`) : read("js/package.json");
      expect(pins).toMatch(new RegExp(`(?:a2a-go/v2 v|@a2a-js/sdk@)${release}\\b`));
    }
  });

  it("the table of interop lists every case and no other", () => {
    const table = page.slice(page.indexOf("## Cases"), page.indexOf("`test/interop/cases.ts` says"));
    const listed = [...table.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name);
    expect(listed).toHaveLength(new Set(listed).size);
    expect(new Set(listed)).toEqual(new Set(Object.keys(cases)));
  });
});
