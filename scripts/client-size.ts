import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type OutputChunk, rolldown } from "rolldown";

// Bundles an application of `trivium/client` as a page or a worker would load it, and says how large it is. Fails when what
// loads at once is over its budget, when something in it should load on demand, and when anything in it wants Node.

const budgetBytes = 52_000;

/** Sources that load on demand. */
const onDemand = [
  /\/binding\/connect\//,
  /\/auth\/oauth\//,
  /\/auth\/credential-source\./,
  /\/version\/v0\./,
  /\/client\/stream\/(?:difference|resuming-stream)\./,
  /\/client\/answer\/text-deltas\./,
  /\/client\/answer\/past-task\./,
  /\/client\/stream\/cancel-on-abort\./,
  /\/client\/interceptors\./,
];
const nodePackages = /^(?:node:|@grpc\/|undici\b|ipaddr\.js\b)/;
const nodeModules = /\/node_modules\/(?:@grpc\/|undici\/|ipaddr\.js\/)/;
const nodeGlobals = ["process", "Buffer", "global", "require", "setImmediate", "__dirname", "__filename"];
/** Asks whether there is a `process` before it asks it anything. */
const asksFirst = /\/dist\/packages\/common\.js$/;

const modulesShown = 15;
const root = fileURLToPath(new URL("..", import.meta.url));
const shorter = (id: string): string => id.replace(root, "").replace("node_modules/", "");
const gzipSize = (code: string): number => gzipSync(code, { level: 9 }).length;

interface Module {
  readonly id: string;
  readonly code: string;
}

async function chunksOf(define: Readonly<Record<string, string>>): Promise<readonly OutputChunk[]> {
  const bundle = await rolldown({
    cwd: root,
    input: "scripts/client-app.ts",
    platform: "browser",
    tsconfig: false,
    transform: { target: "es2022", define },
    // The newest version is loaded with the client, though the table of versions could load it later.
    onLog: (level, log, report) => {
      if (log.code !== "INEFFECTIVE_DYNAMIC_IMPORT") report(level, log);
    },
  });
  const { output } = await bundle.generate({ format: "esm", minify: true, comments: false });
  return output.filter((file) => file.type === "chunk");
}

/** The entry, and every chunk that it imports at once. */
function loadedAtOnce(chunks: readonly OutputChunk[]): ReadonlySet<OutputChunk> {
  const reachable = new Set(chunks.filter(({ isEntry }) => isEntry));
  for (const { imports } of reachable) {
    for (const chunk of chunks) if (imports.includes(chunk.fileName)) reachable.add(chunk);
  }
  return reachable;
}

function modulesOf(chunks: Iterable<OutputChunk>): readonly Module[] {
  return [...chunks].flatMap(({ modules }) =>
    Object.entries(modules).flatMap(([id, { code }]) => (code === null || code === "" ? [] : [{ id, code }])),
  );
}

function printTable(chunks: readonly OutputChunk[], atOnce: ReadonlySet<OutputChunk>): void {
  const row = (...[name, minified, gzip]: (string | number)[]) =>
    print(`${String(name).padEnd(64)}${String(minified).padStart(10)}${String(gzip).padStart(10)}`);
  row("chunk", "minified", "gzip");
  for (const chunk of chunks) {
    const { fileName, code } = chunk;
    row(`${fileName}${atOnce.has(chunk) ? "" : " (on demand)"}`, code.length, gzipSize(code));
  }
  row(
    "loaded at once",
    lengthOf(atOnce, ({ length }) => length),
    lengthOf(atOnce, gzipSize),
  );
  row(`\nlargest modules loaded at once`, "bytes", "gzip");
  const largest = modulesOf(atOnce).toSorted((a, b) => b.code.length - a.code.length);
  for (const { id, code } of largest.slice(0, modulesShown)) row(shorter(id), code.length, gzipSize(code));
}

function lengthOf(chunks: Iterable<OutputChunk>, measure: (code: string) => number): number {
  return [...chunks].reduce((sum, { code }) => sum + measure(code), 0);
}

function findings(
  chunks: readonly OutputChunk[],
  atOnce: ReadonlySet<OutputChunk>,
  mark: (name: string) => string,
): string[] {
  const modules = modulesOf(chunks);
  const initialSources = new Set(modulesOf(atOnce).flatMap(sourcesOf));
  const sources = new Set(modules.flatMap(sourcesOf));
  return [
    ...onDemand.flatMap((pattern) => {
      const matchingSources = [...sources].filter((source) => pattern.test(source));
      const earlyLoads = matchingSources
        .filter((source) => initialSources.has(source))
        .map((source) => `${shorter(source)} loads at once`);
      return matchingSources.length === 0 ? [`nothing is bundled of ${pattern}`] : earlyLoads;
    }),
    ...chunks.flatMap(({ imports, dynamicImports }) =>
      [...imports, ...dynamicImports].filter((name) => nodePackages.test(name)).map((name) => `it imports ${name}`),
    ),
    ...modules.filter(({ id }) => nodeModules.test(id)).map(({ id }) => `it holds ${shorter(id)}`),
    ...modules.flatMap(({ id, code }) =>
      nodeGlobals
        .filter((name) => code.includes(mark(name)) && !(name === "process" && asksFirst.test(id)))
        .map((name) => `${shorter(id)} wants the global ${name}`),
    ),
  ];
}

/** What a file of `dist` was made of; any other file is its own source. */
function sourcesOf({ id }: Module): readonly string[] {
  const map = `${id}.map`;
  if (!id.startsWith(join(root, "dist")) || !existsSync(map)) return [id];
  const { sources } = JSON.parse(readFileSync(map, "utf8")) as { readonly sources: readonly string[] };
  return sources.map((source) => join(dirname(id), source));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const chunksAsBuilt = await chunksOf({});
printTable(chunksAsBuilt, loadedAtOnce(chunksAsBuilt));
const total = lengthOf(loadedAtOnce(chunksAsBuilt), gzipSize);

// A bundler that replaces globals by marks finds those that are no local names.
const mark = (name: string): string => `wantedOfNode_${name}`;
const markedChunks = await chunksOf(Object.fromEntries(nodeGlobals.map((name) => [name, mark(name)])));
const mistakes = new Set(findings(markedChunks, loadedAtOnce(markedChunks), mark));
if (total > budgetBytes) mistakes.add(`what loads at once has ${total} bytes, the budget is ${budgetBytes}`);
for (const finding of mistakes) print(`\ncheck:size: ${finding}`);
process.exitCode = mistakes.size === 0 ? 0 : 1;
