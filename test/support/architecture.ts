import { posix } from "node:path";
import type { SourceFile } from "./source-file.js";

/** A rule that a file breaks, with the offending line. */
interface Breach {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
}

type Rule = (files: readonly SourceFile[]) => Breach[];

const vocabulary = ["protocol"];
const ports = ["protocol", "core/ports.ts"];
const lowerRooms = [
  "protocol",
  "version",
  "core",
  "store",
  "signals",
  "push",
  "auth",
  "rates",
  "telemetry",
  "card",
  "binding",
];

/** What each room may import besides itself: rooms, or single files of a room. `""` stands for the entry points. */
const allowedImports: Readonly<Record<string, readonly string[]>> = {
  protocol: ["gen"],
  version: ["gen", ...vocabulary],
  core: vocabulary,
  // The store has generated messages for its own records.
  store: [...ports, "gen"],
  signals: ports,
  // Webhooks are called the way a client calls agents.
  push: [...ports, "version", "binding/fetch/address-policy.ts", "binding/fetch/node-fetch.ts"],
  auth: vocabulary,
  // Limits that processes share are in the store.
  rates: ports,
  telemetry: vocabulary,
  // The card is an endpoint of the HTTP seam.
  card: ["protocol", "version", "binding/http/http.ts"],
  binding: ["protocol", "version"],
  "binding/grpc": ["gen", "protocol", "version", "binding"],
  // The agents of a server call each other by its clients.
  server: [...lowerRooms, "client"],
  client: ["protocol", "version", "auth", "telemetry", "binding"],
  gateway: [...lowerRooms, "server", "client"],
  mounting: [...lowerRooms, "server"],
  // Executors of another SDK become agents: functions of a turn.
  executor: ["protocol", "version", "core/agent.ts"],
  testing: [...lowerRooms, "server", "client"],
  cli: [...lowerRooms, "server", "client", "gateway"],
  "": [...lowerRooms, "server", "client", "gateway"],
};

/** Every room and file that the rules name, as paths. */
export const namedPaths: readonly string[] = [
  ...new Set([...Object.keys(allowedImports), ...Object.values(allowedImports).flat()]),
]
  .filter((name) => name !== "")
  .map((name) => (name === "gen" ? name : `src/${name}`));

/** The one example in the package, and the only file that loads it, lazily. */
const shippedExample = { folder: "examples/demo/", loadedBy: "src/cli/demo.ts" };

/** Packages that only one room may import. */
const packageHomes = [
  { packages: /^(?:@grpc\/|grpc-)/, home: "src/binding/grpc/" },
  { packages: /^@connectrpc\//, home: "src/binding/connect/" },
  { packages: /^undici(?:\/|$)/, home: "src/binding/fetch/node-fetch.ts" },
  { packages: /^(?:@koa\/|koa\b)/, home: "src/server/" },
  { packages: /^(?:kysely|pg|pg-.*|node:sqlite)(?:\/|$)/, home: /^src\/store\/(?:sql|sqlite|postgres)\// },
  { packages: /^jose$/, home: "src/auth/schemes/" },
  { packages: /^oauth4webapi$/, home: "src/auth/" },
  { packages: /^@opentelemetry\//, home: "src/telemetry/" },
];

/** What grpc-js does not document, or what depends on its internals, and the one folder that may use it. */
const belowGrpc = {
  home: "src/binding/grpc/internals/",
  packages: /^(?:@grpc\/grpc-js\/|node:diagnostics_channel$)/,
  words:
    /\b(?:Reflect|ServerInterceptingCall\w*|createConnectionInjector|createCall|sendMessageWithContext|removeAllListeners|internalChannel)\b|\.register\(|["'.]_[a-z]/,
};

/**
 * Protocol versions as spelled on the wire: 1.0 and the releases of 0.x. Other version strings, such as JSON-RPC's
 * "2.0", are not matched.
 */
const protocolVersion = /^v?(?:1\.0|0\.[123](?:\.\d+)?)$/;

/** The packages of 1.0 and 0.3 in the schema, alone or before the name of a message or a service. */
const schemaPackage = /^\/?(?:lf\.)?a2a\.v1(?:\.(\w*)|$)/;

const fileName = /^[a-z0-9]+(?:[-.][a-z0-9]+)*\.ts$/;

/** Every rule about the source code. */
export const rules = {
  "imports point to the left": arrows,
  "examples know the package by its name": borders,
  "packages stay in their room": packages,
  "what reaches below grpc-js lies in one folder": perLine(
    ({ path }) => path.startsWith("src/binding/grpc/") && !path.startsWith(belowGrpc.home),
    ({ imports, comments, lines }) => {
      const remarks = new Set(comments.map(({ line }) => line));
      const lineNumbers = [
        ...imports.filter(({ specifier }) => belowGrpc.packages.test(specifier)).map(({ line }) => line),
        ...lines.flatMap((text, index) => (belowGrpc.words.test(text) && !remarks.has(index + 1) ? [index + 1] : [])),
      ];
      return lineNumbers.map((line) => ({ line, rule: `reaches below grpc-js: it belongs to ${belowGrpc.home}` }));
    },
  ),
  "no cycle of values": cycles,
  "rooms form no circle": circles,
  "versions are named in their room": perLine(
    // The executors of an SDK are named by its releases, which are numbered alike.
    (file) => isSource(file) && !/^src\/(?:version|executor)\//.test(file.path),
    ({ strings, lines }) =>
      strings
        // HTTP versions look the same.
        .filter(({ text, line }) => protocolVersion.test(text) && !/httpVersion/.test(lines[line - 1] ?? ""))
        .map(({ text, line }) => ({ line, rule: `${text} is a protocol version: it belongs to version/` })),
  ),
  "names of the schema are generated": perLine(isSource, ({ strings }) =>
    strings
      .filter(({ text }) => schemaPackage.test(text))
      .map(({ text, line }) => {
        const name = schemaPackage.exec(text)?.[1] || "Task";
        return { line, rule: `"${text}" is a name of the schema: use typeNames.${name} of protocol/model.ts` };
      }),
  ),
  "names of files are kebab-case": perLine(
    () => true,
    ({ path }) => {
      const name = posix.basename(path);
      return fileName.test(name) ? [] : [{ line: 1, rule: `${name} is not kebab-case` }];
    },
  ),
  "no console": perLine(
    (file) => isSource(file) && !file.path.startsWith("src/cli/"),
    ({ consoles }) => consoles.map((line) => ({ line, rule: "console. outside of cli" })),
  ),
  "no any": perLine(
    () => true,
    ({ anys }) => anys.map((line) => ({ line, rule: "the type any" })),
  ),
} as const satisfies Record<string, Rule>;

function perLine(
  applies: (file: SourceFile) => boolean,
  check: (file: SourceFile) => { line: number; rule: string }[],
): Rule {
  return (files) =>
    files.filter(applies).flatMap((file) => check(file).map((breach) => ({ path: file.path, ...breach })));
}

function isSource({ path }: SourceFile): boolean {
  return path.startsWith("src/");
}

function arrows(files: readonly SourceFile[]): Breach[] {
  return files.filter(isSource).flatMap(({ path, imports }) =>
    imports.flatMap(({ line, specifier }) => {
      if (!specifier.startsWith(".")) return [];
      const target = resolveImport(path, specifier);
      // `borders` judges these.
      if (target.startsWith("examples/")) return [];
      // It is data: the build keeps what is read of it.
      if (target === "package.json") return [];
      const room = roomOf(path);
      const allowedHere = allowedImports[subroomOf(path)] ?? allowedImports[room];
      if (allowedHere === undefined)
        return [{ path, line: 1, rule: `the room ${room} has no place in the order of rooms` }];
      if (target === "src/index.ts") return [{ path, line, rule: "imports the entry point instead of the file" }];
      const isAllowed = target.startsWith("gen/")
        ? allowedHere.includes("gen")
        : (roomOf(target) === room && room !== "") ||
          allowedHere.some((name) => name === roomOf(target) || `src/${name}` === target);
      return isAllowed ? [] : [{ path, line, rule: `${room} may not import ${target}` }];
    }),
  );
}

/** An example is a separate program: it imports its own files and the package, as users do. */
function borders(files: readonly SourceFile[]): Breach[] {
  return files.flatMap(({ path, imports }) =>
    imports.flatMap(({ line, specifier, kind }) => {
      if (!specifier.startsWith(".")) return [];
      const target = resolveImport(path, specifier);
      const [from, to] = [exampleOf(path), exampleOf(target)];
      const isLoad = kind === "lazy" && path === shippedExample.loadedBy && target.startsWith(shippedExample.folder);
      return from === to || isLoad ? [] : [{ path, line, rule: `${path} may not import ${target}` }];
    }),
  );
}

/** Folder of an example, or `undefined` for files elsewhere. */
function exampleOf(path: string): string | undefined {
  return /^examples\/[^/]+\//.exec(path)?.[0];
}

function isAt(path: string, home: string | RegExp): boolean {
  return typeof home === "string" ? path.startsWith(home) : home.test(path);
}

function packages(files: readonly SourceFile[]): Breach[] {
  return files
    .filter(isSource)
    .flatMap(({ path, imports }) =>
      imports.flatMap(({ line, specifier }) =>
        packageHomes
          .filter(({ packages, home }) => packages.test(specifier) && !isAt(path, home))
          .map(({ home }) => ({ path, line, rule: `${specifier} belongs to ${home}` })),
      ),
    );
}

/** Cycles between files, `import()` included. Types may circle: they are gone when modules load. */
function cycles(files: readonly SourceFile[]): Breach[] {
  const values = files.map((file) => ({ ...file, imports: file.imports.filter(({ kind }) => kind !== "type") }));
  return closingArrows(values, ({ path }, target) => [path, target]);
}

/** Cycles between the sub-rooms of one room, types included. A file directly in the room counts as a sub-room. */
function circles(files: readonly SourceFile[]): Breach[] {
  return closingArrows(files, ({ path }, target) => roomsApart(path, target));
}

/** The two sibling rooms that an import connects, or nothing for files of the same room. */
function roomsApart(from: string, to: string): Ends {
  const [fromParts, toParts] = [from.split("/"), to.split("/")];
  const apart = fromParts.findIndex((part, index) => part !== toParts[index]);
  const isFile = apart === fromParts.length - 1 && apart === toParts.length - 1;
  if (isFile || apart < 0) return [];
  return [fromParts.slice(0, apart + 1).join("/"), toParts.slice(0, apart + 1).join("/")];
}

type Ends = readonly [] | readonly [from: string, to: string];

/** The imports that close a cycle between the given nodes. */
function closingArrows(files: readonly SourceFile[], endsOf: (file: SourceFile, target: string) => Ends): Breach[] {
  const arrows = new Map<string, Map<string, Omit<Breach, "rule">>>();
  for (const file of files) {
    for (const { line, specifier } of file.imports) {
      const [from, to] = specifier.startsWith(".") ? endsOf(file, resolveImport(file.path, specifier)) : [];
      if (from === undefined || to === undefined) continue;
      const out = arrows.get(from) ?? new Map<string, Omit<Breach, "rule">>();
      if (!out.has(to)) out.set(to, { path: file.path, line });
      arrows.set(from, out);
    }
  }
  const visited = new Set<string>();
  const breaches: Breach[] = [];
  const visit = (from: string, trail: readonly string[]): void => {
    if (visited.has(from)) return;
    for (const [to, arrow] of arrows.get(from) ?? []) {
      const start = [...trail, from].indexOf(to);
      if (start < 0) visit(to, [...trail, from]);
      else breaches.push({ ...arrow, rule: `closes a cycle: ${[...trail, from].slice(start).join(" → ")} → ${to}` });
    }
    visited.add(from);
  };
  for (const from of arrows.keys()) visit(from, []);
  return breaches;
}

function resolveImport(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, ".ts");
}

/** First folder below `src`; `""` for files in `src` itself. */
function roomOf(path: string): string {
  const [, room = "", ...rest] = path.split("/");
  return rest.length === 0 ? "" : room;
}

function subroomOf(path: string): string {
  return path.split("/").slice(1, 3).join("/");
}
