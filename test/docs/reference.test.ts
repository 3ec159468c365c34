import { execFileSync } from "node:child_process";
import { globSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { clientMembers } from "../../src/client/option-rules.js";
import { defaultClientLimits } from "../../src/client/options.js";
import { errorCodes, errorTable } from "../../src/protocol/errors.js";
import { operations } from "../../src/protocol/operations.js";
import { defaultLimits } from "../../src/server/limits.js";
import { agentMembers, listenMembers } from "../../src/server/option-rules.js";
import { sqlMembers } from "../../src/store/sql/option-rules.js";
import { typeArgumentsOf } from "../support/source-texts.js";
import { read } from "./pages.js";

const { exports } = JSON.parse(read("package.json")) as {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};

/** The values that the entry points export. */
const values = await Promise.all(
  Object.values(exports).flatMap((target) => {
    const file = typeof target === "string" ? undefined : target.default.replace("./dist/", "../../");
    return file === undefined ? [] : [import(/* @vite-ignore */ file)];
  }),
);

const pages = globSync("docs/reference/*.md");
const reference = pages.map(read).join("\n");

/** The text below a heading, as far as the next one. */
function sectionOf(name: string): string {
  return new RegExp(`^### \`${name}\`\\n([\\s\\S]*?)(?=^#{1,3} |$(?![\\s\\S]))`, "m").exec(reference)?.[1] ?? "";
}

/** The row of a table that begins with a name; what it says behind that. */
function rowOf(section: string, name: string): string | undefined {
  return new RegExp(`^\\| \`${name}\\??\` \\| (.+) \\|$`, "m").exec(section)?.[1];
}

/** The types of options that are checked: each `MembersOf<T>` is the table of the options of `T`. */
const checked = globSync("src/**/*.ts").flatMap((file) =>
  typeArgumentsOf(file, read(file), "MembersOf").filter((type) => type !== "T"),
);

function written(name: string, value: number | undefined): string {
  if (value === undefined || value === Number.POSITIVE_INFINITY) return "none";
  if (name.endsWith("Ms") && value >= 86_400_000) return `${value / 86_400_000} days`;
  if (name.endsWith("Ms")) return `${value / 1000} s`;
  if (!name.endsWith("Bytes")) return value.toLocaleString("en");
  return value >= 1 << 20 ? `${value / (1 << 20)} MiB` : `${value / 1024} KiB`;
}

describe("the docstrings of the entry points", () => {
  it("the docstrings of the entry points show the examples of test/docs/docstrings", () => {
    const check = ["scripts/docstring-examples.ts", "--check"];
    expect(() => execFileSync(process.execPath, check, { stdio: "pipe" })).not.toThrow();
  });
});

describe("the reference", () => {
  it("the reference is what the source says", () => {
    expect(() => execFileSync(process.execPath, ["scripts/reference.ts", "--check"], { stdio: "pipe" })).not.toThrow();
  });

  it.each(Object.entries(defaultLimits))("the reference has the limit %s with its default", (name, value) => {
    expect(rowOf(read("docs/reference/limits.md"), name)?.split(" | ")[0]).toBe(written(name, value));
  });

  it.each(Object.keys(defaultClientLimits))("the reference has the limit %s of a client", (name) => {
    expect(rowOf(sectionOf("ClientLimits"), name)).toBeDefined();
  });

  it.each(errorCodes)("the reference describes the error %s as the table does", (code) => {
    const { reason, jsonRpc, grpc, http } = errorTable[code];
    const cells = rowOf(read("docs/reference/errors.md"), code)?.split(" | ") ?? [];
    expect(cells.slice(0, 4)).toEqual([`\`${reason}\``, `${jsonRpc}`, `${grpc}`, `${http}`]);
    expect(cells[5]).toMatch(/^[A-Z]/);
  });

  it.each(Object.keys({ ...agentMembers, ...listenMembers, ...clientMembers, ...sqlMembers }))(
    "the reference has the option %s",
    (name) => expect(rowOf(reference, name)).toBeDefined(),
  );

  it.each([...new Set(checked)])("the reference has a section of the options in %s", (type) => {
    expect(sectionOf(type)).toMatch(/^(?:\| `|The members are those of)/m);
  });

  it.each(operations.map(({ name }) => name))("the reference has the operation %s", (name) => {
    expect(rowOf(read("docs/reference/client.md"), name)).toBeDefined();
  });

  it.each(["task", "message", "status", "artifact"])("the reference has the event %j of a stream", (type) => {
    expect(read("docs/reference/answers.md")).toContain(`| \`type\` | \`"${type}"\` |`);
  });

  it.each([...new Set(values.flatMap((module: object) => Object.keys(module)))])(
    "the reference has the name %s",
    (name) => {
      expect(read("docs/reference/names.md")).toContain(`| [\`${name}\`](`);
      expect(reference).toMatch(new RegExp(`^(?:### \`${name}\`|\\| <a id="${name.toLowerCase()}">)`, "m"));
    },
  );

  it.each(pages)("the reference says in %s what everything means", (page) => {
    expect(read(page).match(/^\| `.* \| {2}\|$/gm) ?? []).toEqual([]);
    expect(read(page).match(/^### `.*\n\n\|/gm) ?? []).toEqual([]);
  });
});
