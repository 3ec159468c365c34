import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type InputOptions, type PreRenderedChunk, rolldown } from "rolldown";

// Makes `dist`: the types that the entry points need, as the compiler writes them, and the code in few files, since
// reading hundreds of them was most of a start. `--out DIR` makes it elsewhere.
//
// An entry point, and what is loaded later with `import()`, keeps the path of its source. What they share is in
// `chunks/`: modules that are loaded by the same of the starts below are one file, so none of them reads code that it
// does not run, and every name is one object in all entry points. Source maps contain the sources. `packages/` has the
// used parts of a few packages in the same way, without source maps, and the licenses of them. All other packages stay
// dependencies: they are not ES modules, or instrumentation patches them (gRPC), or they are small.
//
// A module without side effects is left out when nothing of it is used, so code that has to run is in a function that
// is called. A module that looks for a file beside itself (`new URL("./…", import.meta.url)`) gets a file at its own
// path. But programs are bundled again, so no code may need a file at run time: `src/store/sqlite/worker-code.ts` has
// the thread of SQLite as text, and `src/protocol/load-package.ts` loads CommonJS packages.
// `test/package/bundles.test.ts` runs bundles.

/** What is loaded by itself, and often. */
const starts = {
  server: "src/index.ts",
  client: "src/client/index.ts",
  sqlite: "src/store/sqlite/index.ts",
  thread: "src/store/sqlite/worker.ts",
  v1: "src/version/v1.0/v1.ts",
};

/** The module that has the code of the thread as text. */
const threadCodeModule = "src/store/sqlite/worker-code.ts";

/** What a server loads later, or a server without 1.0: it needs parts of the client, and not the rest. */
const later = [
  "src/version/v0.3/v03.ts",
  "src/version/v0.2/v02.ts",
  "src/version/v0.1/v01.ts",
  "src/server/authentication-schemes.ts",
  "src/auth/gate.ts",
  "src/binding/fetch/node-fetch.ts",
  "src/binding/grpc/server.ts",
  "src/binding/connect/endpoint.ts",
];

/**
 * Packages of which few modules are used and many would be loaded: protobuf-es makes the descriptors of Google's files when it
 * is imported, which was a third of a start, and the modules of Kysely were half of what SQLite added. Connect reads the
 * descriptors of protobuf-es, so the two share a copy.
 */
const bundledPackages = /^(?:@bufbuild\/protobuf|@connectrpc\/[^/]+|kysely)(?:\/|$)/;
/** What a module of a package says about its license, where the package has no file for it. */
const notice = /^\/\/ Copyright(?:.|\n)*?(?:limitations under the License\.\n|\n(?!\/\/))/;
/** What the bundler writes newer syntax with. */
const helpers = /^@oxc-project\/runtime\//;

interface Module {
  readonly code: string;
  readonly imports: readonly string[];
  readonly later: readonly string[];
}

const root = fileURLToPath(new URL("..", import.meta.url));
const { values } = parseArgs({ options: { out: { type: "string", default: join(root, "dist") } } });
const buildFolder = resolve(values.out);
/** Takes the place of what there was once it is whole. */
const out = `${buildFolder}.new`;
const { bin, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly bin: { readonly trivium: string };
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
};

const settings: InputOptions = {
  cwd: root,
  platform: "node",
  tsconfig: "tsconfig.build.json",
  // Newer syntax, such as `using`, is written in older words, for the oldest Node that the package supports.
  transform: { target: "es2024" },
  // Constants of other modules, such as the names of messages, become literals: nothing is looked up when the code runs.
  optimization: { inlineConst: true },
  external: (id) => !/^[./]/.test(id) && !helpers.test(id) && !bundledPackages.test(id),
  preserveEntrySignatures: "allow-extension",
  // A module that is loaded at once by one start may be loaded later by another.
  onLog: (level, log, report) => {
    if (log.code !== "INEFFECTIVE_DYNAMIC_IMPORT") report(level, log);
  },
};

for (const source of [...Object.values(starts), threadCodeModule, ...later]) {
  if (!existsSync(join(root, source))) throw new Error(`scripts/build.ts names ${source}, which does not exist`);
}
rmSync(out, { recursive: true, force: true });
const compiler = [join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json", "--outDir", out];
execFileSync(process.execPath, compiler, { cwd: root, stdio: "inherit" });
await bundle();
keepTypes();
chmodSync(join(out, relative("dist", bin.trivium)), 0o755);
rmSync(buildFolder, { recursive: true, force: true });
renameSync(out, buildFolder);

async function bundle(): Promise<void> {
  const modules = new Map<string, Module>();
  const threadCode = await bundleThread();
  await using build = await rolldown({
    ...settings,
    input: Object.fromEntries(entries().map((source) => [withoutType(source), source])),
    plugins: [
      {
        name: "thread",
        load: (id) =>
          id === join(root, threadCodeModule) ? `export const workerCode = ${JSON.stringify(threadCode)};` : null,
      },
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
  });
  const chunkOf = chunks(modules, await usedAtOnce(starts.client));
  const { output } = await build.write({
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
  for (const { fileName } of output) if (/^packages\/.*\.js$/.test(fileName)) leaveOutMap(join(out, fileName));
  writeFileSync(join(out, "packages/LICENSES.txt"), licenses([...modules.keys()].filter(isOfPackage)));
}

/** The modules of which an entry uses anything when it is loaded. */
async function usedAtOnce(source: string): Promise<ReadonlySet<string>> {
  await using build = await rolldown({ ...settings, input: source });
  const { output } = await build.generate();
  const parts = output.filter((file) => file.type === "chunk");
  const entryChunks = new Set(parts.filter(({ isEntry }) => isEntry));
  for (const { imports } of entryChunks)
    for (const part of parts) if (imports.includes(part.fileName)) entryChunks.add(part);
  return new Set([...entryChunks].flatMap(({ moduleIds }) => moduleIds));
}

/** Code of packages is as they publish it. */
function leaveOutMap(file: string): void {
  writeFileSync(file, readFileSync(file, "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
  rmSync(`${file}.map`);
}

/** The licenses of the packages that these modules are from: their own files, or else what their modules begin with. */
function licenses(ids: readonly string[]): string {
  const byFolder = Map.groupBy(ids, (id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? "");
  const texts = [...byFolder].sort().map(([folder, files]) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = join(folder, "LICENSE");
    const notices = existsSync(file)
      ? [readFileSync(file, "utf8")]
      : new Set(files.map((id) => notice.exec(readFileSync(id, "utf8"))?.[0] ?? ""));
    return [`${name} ${version}, ${license}`, ...notices].map((text) => text.trim()).join("\n\n");
  });
  return `${texts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

/** The thread of SQLite as one script, which a bundle of a program contains as text. */
async function bundleThread(): Promise<string> {
  await using build = await rolldown({ ...settings, input: starts.thread });
  const { output } = await build.generate({ format: "cjs", minify: true, codeSplitting: false, comments: false });
  const [script, ...others] = output;
  if (others.length > 0 || script.imports.some((name) => !name.startsWith("node:")))
    throw new Error(`the thread of SQLite is not one script: it needs ${script.imports}`);
  return script.code;
}

/** Removes the types that no entry point needs. */
function keepTypes(): void {
  const targets = Object.values(exports).flatMap((target) => (typeof target === "string" ? [] : [target.types]));
  const targetPaths = new Set(targets.map((path) => join(out, relative("dist", path))));
  for (const file of targetPaths) {
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(
      /(?:\bfrom |\bimport\(|\bimport )"(\.[^"]+)\.js"/g,
    )) {
      targetPaths.add(join(dirname(file), `${path}.d.ts`));
    }
  }
  for (const file of globSync("**/*.d.ts", { cwd: out }))
    if (!targetPaths.has(join(out, file))) rmSync(join(out, file));
}

/** The sources of the entry points, of the command, and of the thread that runs SQLite. */
function entries(): readonly string[] {
  const targets = Object.values(exports).flatMap((target) => (typeof target === "string" ? [] : [target.default]));
  return [...[...targets, bin.trivium].map((path) => relative("dist", path).replace(/\.js$/, ".ts")), starts.thread];
}

/**
 * The chunk of a module; `null` where the bundler decides. Of packages, what the client does not use at once is apart: the
 * bundler of a page can leave out a file, and much less of one.
 */
function chunks(
  modules: ReadonlyMap<string, Module>,
  usedByClient: ReadonlySet<string>,
): (id: string) => string | null {
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
    if (isOfPackage(id)) return `packages/${usedByClient.has(id) ? "common" : (loading[0] ?? packageOf(id))}`;
    // What even the thread of SQLite needs is in every start.
    if (loading.includes("client") && loading.includes("thread")) return "chunks/common";
    // A program with a store is a server as well.
    const names = loading.includes("server") ? loading.filter((name) => name !== "sqlite") : loading;
    return names.length === 0 ? null : `chunks/${[...names, ...namesIn(marks().others, id)].join("-")}`;
  };
}

/** A package or the scope of one. */
function packageOf(id: string): string {
  return /^.*\/node_modules\/@?([^/]+)/.exec(id)?.[1] ?? "";
}

function isOfPackage(id: string): boolean {
  return id.includes("/node_modules/") && !id.includes("\0");
}

/** Modules with everything that they import, at once or also later. */
function closure(
  sources: readonly string[],
  modules: ReadonlyMap<string, Module>,
  alsoLater: boolean,
): ReadonlySet<string> {
  const reachable = new Set(sources.map((source) => join(root, source)));
  for (const each of reachable) {
    const { imports = [], later = [] } = modules.get(each) ?? {};
    for (const next of alsoLater ? [...imports, ...later] : imports) if (modules.has(next)) reachable.add(next);
  }
  return reachable;
}

function lazy<T>(make: () => T): () => T {
  let value: T | undefined;
  return () => (value ??= make());
}

function pathOf({ name, facadeModuleId }: PreRenderedChunk): string {
  const path =
    facadeModuleId === null || facadeModuleId === undefined ? name : withoutType(relative(root, facadeModuleId));
  return path.includes("/") ? `${path}.js` : `chunks/${path}.js`;
}

function withoutType(source: string): string {
  return source.replace(/\.ts$/, "");
}
