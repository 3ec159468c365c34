import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { createProject, type Project } from "./project.js";

// Programs of users who compile with `strict`, and do not skip the checks of the declarations they import.

const entries: readonly string[] = Object.keys(JSON.parse(readFileSync("package.json", "utf8")).exports)
  .filter((entry) => entry !== "./package.json")
  .map((entry) => `trivium${entry.slice(1)}`);

const compilers = { "5.9": "node_modules/typescript/bin/tsc", "7": "node_modules/typescript-7/bin/tsc" } as const;
const modules = [
  { module: "node16", moduleResolution: "node16" },
  { module: "esnext", moduleResolution: "bundler" },
];
const strict = {
  noEmit: true,
  strict: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  target: "es2022",
};

let project: Project;
beforeAll(async () => {
  project = await createProject("typescript@5.9", "typescript-7@npm:typescript@7");
  await project.write("hello.ts", readFileSync("examples/hello/server.ts", "utf8"));
  const imports = entries.map((entry, index) => `import * as e${index} from "${entry}";`);
  const names = entries.map((_, index) => `e${index}`);
  await project.write("entries.ts", [...imports, `export const all: object[] = [${names.join(", ")}];`].join("\n"));
  await project.write(
    "page.ts",
    [
      'import { A2AError, Client } from "trivium/client";',
      'await using client = await Client.connect("https://agent.example");',
      "document.title = client.card.name;",
      "export const isOurs = (error: unknown): boolean => error instanceof A2AError;",
    ].join("\n"),
  );
  // The declarations that a program needs are those of Node; it has installed none of the frameworks' and databases'.
  const installed = await project.run("npm", "ls", "--all", "--parseable");
  for (const other of ["@types/koa", "@types/pg", "@types/express", "node_modules/pg", "fastify", "hono", "next"]) {
    expect(installed.output).not.toContain(other);
  }
});

async function problems(compiler: string, options: object, files: readonly string[]): Promise<string> {
  const name = `tsconfig.${crypto.randomUUID()}.json`;
  await project.write(name, JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
  const { output } = await project.run(process.execPath, compiler, "-p", name);
  return output;
}

describe.each(Object.entries(compilers))("TypeScript %s without skipLibCheck", (_, compiler) => {
  it.each(modules)(
    "TypeScript without skipLibCheck compiles hello and every entry point ($moduleResolution)",
    async (setting) => {
      const node = { lib: ["es2022"], types: ["node"] };
      expect(await problems(compiler, { ...setting, ...node }, ["hello.ts", "entries.ts"])).toBe("");
    },
  );

  it.each(modules)(
    "TypeScript without skipLibCheck and Node's types compiles a page that calls agents ($moduleResolution)",
    async (setting) => {
      const browser = { lib: ["es2022", "dom", "dom.iterable"], types: [] };
      expect(await problems(compiler, { ...setting, ...browser }, ["page.ts"])).toBe("");
    },
  );
});

it("the test of types would notice a declaration that does not compile", async () => {
  await project.write("broken.ts", 'import { nothing } from "trivium";\nexport const copy = nothing;');
  expect(await problems(compilers["7"], { ...modules[0], types: ["node"] }, ["broken.ts"])).toContain("TS2305");
});
