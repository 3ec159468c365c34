import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type PreRenderedChunk, rolldown } from "rolldown";

// Makes `dist`: the types as the compiler writes them, a file for each, and the code in few files, since reading hundreds of
// them was most of a start. `--out DIR` makes it elsewhere.
//
// An entry point, and what is loaded later with `import()`, keeps the path of its source. What they share is in `chunks/`:
// modules that are loaded by the same of the starts below are one file, so none of them reads code that it does not run.

/** What is loaded by itself, and often. */
const starts = {
  server: "src/index.ts",
  client: "src/client/index.ts",
  sqlite: "src/store/sqlite/index.ts",
  thread: "src/store/sqlite/worker.ts",
  v1: "src/version/v1.0/v1.ts",
};

/** What a server loads later, or a server without 1.0: it needs parts of the client, and not the rest. */
const later = [
  "src/version/v0.3/v03.ts",
  "src/version/v0.2/v02.ts",
  "src/version/v0.1/v01.ts",
  "src/server/guarding.ts",
  "src/auth/gate.ts",
  "src/binding/fetch/node-fetch.ts",
  "src/binding/grpc/server.ts",
  "src/binding/connect/endpoint.ts",
];

/** What the bundler writes newer syntax with. */
const helpers = /^@oxc-project\/runtime\//;

interface Module {
  readonly code: string;
  readonly imports: readonly string[];
  readonly later: readonly string[];
}

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({ options: { out: { type: "string", default: join(root, "dist") } } });
const made = resolve(values.out);
/** Takes the place of what there was once it is whole. */
const out = `${made}.new`;
const { bin, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly bin: { readonly trivium: string };
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};

rmSync(out, { recursive: true, force: true });
const compiler = [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json", "--outDir", out];
execFileSync(process.execPath, compiler, { cwd: root, stdio: "inherit" });
await bundle();
chmodSync(join(out, relative("dist", bin.trivium)), 0o755);
rmSync(made, { recursive: true, force: true });
renameSync(out, made);

async function bundle(): Promise<void> {
  const modules = new Map<string, Module>();
  await using build = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries().map((source) => [withoutType(source), source])),
    platform: "node",
    tsconfig: "tsconfig.build.json",
    // Newer syntax, such as `using`, is written in older words, for the oldest Node that the package supports.
    transform: { target: "es2024" },
    external: (id) => !/^[./]/.test(id) && !helpers.test(id),
    preserveEntrySignatures: "allow-extension",
    plugins: [
      {
        name: "modules",
        buildEnd() {
          for (const id of this.getModuleIds()) {
            const info = this.getModuleInfo(id);
            if (info?.code)
              modules.set(id, { code: info.code, imports: info.importedIds, later: info.dynamicallyImportedIds });
          }
        },
      },
    ],
    // A module that is loaded at once by one start may be loaded later by another.
    onLog: (level, log, report) => {
      if (log.code !== "INEFFECTIVE_DYNAMIC_IMPORT") report(level, log);
    },
  });
  const chunkOf = chunks(modules);
  await build.write({
    dir: out,
    format: "esm",
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: pathOf,
    comments: { legal: false, jsdoc: false, annotation: true },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: (id) => chunkOf(id), debugName: "starts" }],
    },
  });
}

/** The sources of the entry points, of the command, and of the thread that runs SQLite. */
function entries(): readonly string[] {
  const targets = Object.values(exports).flatMap((target) => (typeof target === "string" ? [] : [target.default]));
  return [...[...targets, bin.trivium].map((path) => relative("dist", path).replace(/\.js$/, ".ts")), starts.thread];
}

/** The chunk of a module; `null` where the bundler decides. */
function chunks(modules: ReadonlyMap<string, Module>): (id: string) => string | null {
  const loadedBy = (sources: readonly string[], alsoLater = false) => closure(sources, modules, alsoLater);
  const marks = lazy(() => ({
    starts: Object.entries(starts).map(([name, source]) => [name, loadedBy([source])] as const),
    others: Object.entries({ later: loadedBy(later), web: loadedBy([starts.client], true) }),
  }));
  const namesIn = (sets: readonly (readonly [name: string, ids: ReadonlySet<string>])[], id: string) =>
    sets.flatMap(([name, ids]) => (ids.has(id) ? [name] : []));
  return (id) => {
    // It looks for files beside itself.
    if (modules.get(id)?.code.includes('new URL("./')) return withoutType(relative(root, id));
    const loading = namesIn(marks().starts, id);
    // What even the thread of SQLite needs is in every start.
    if (loading.includes("client") && loading.includes("thread")) return "chunks/common";
    // A program with a store is a server as well.
    const names = loading.includes("server") ? loading.filter((name) => name !== "sqlite") : loading;
    return names.length === 0 ? null : `chunks/${[...names, ...namesIn(marks().others, id)].join("-")}`;
  };
}

/** Modules with everything that they import, at once or also later. */
function closure(
  sources: readonly string[],
  modules: ReadonlyMap<string, Module>,
  alsoLater: boolean,
): ReadonlySet<string> {
  const found = new Set(sources.map((source) => join(root, source)));
  for (const each of found) {
    const { imports = [], later = [] } = modules.get(each) ?? {};
    for (const next of alsoLater ? [...imports, ...later] : imports) if (modules.has(next)) found.add(next);
  }
  return found;
}

function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function pathOf({ name, facadeModuleId }: PreRenderedChunk): string {
  const path =
    facadeModuleId === null || facadeModuleId === undefined ? name : withoutType(relative(root, facadeModuleId));
  return path.includes("/") ? `${path}.js` : `chunks/${path}.js`;
}

function withoutType(source: string): string {
  return source.replace(/\.ts$/, "");
}
