import { type ESTree, parseSync } from "rolldown/utils";
import { type Block, read } from "./pages.js";

/** The names that a reader has. */
export const ambient: ReadonlySet<string> = new Set(
  parseSync("ambient.d.ts", read("test/docs/ambient.d.ts")).program.body.flatMap(namesOf),
);

/** Blocks of a page that are one program. Each line of its source is the line of the page with the same number. */
export interface Program {
  readonly page: string;
  /** The lines of the page with the first line of each of its blocks. */
  readonly begins: readonly number[];
  readonly source: string;
}

/** What an import binds: the statement that binds this name alone. */
type Imports = ReadonlyMap<string, string>;

interface Parsed {
  readonly block: Block;
  readonly names: readonly string[];
  readonly imports: Imports;
  readonly statements: readonly { readonly start: number; readonly end: number; readonly names: readonly string[] }[];
}

/**
 * The programs of a page: its blocks in order. A block that declares a name anew begins a new program, which keeps the imports
 * of those before it.
 */
export function programsOf(blocks: readonly Block[]): readonly Program[] {
  const programs: { page: string; lines: string[]; begins: number[] }[] = [];
  let declared = new Set<string>();
  let imports = new Map<string, string>();
  for (const parsed of blocks.map(parse)) {
    const { block, names } = parsed;
    const conflicts = names.some((name) => declared.has(name) || imports.has(name) || isUsed(name, programs.at(-1)));
    const rebound = [...parsed.imports].filter(
      ([name, text]) => declared.has(name) || (imports.get(name) ?? text) !== text,
    );
    if (programs.length === 0 || conflicts || rebound.length > 0) {
      for (const name of [...names, ...rebound.map(([name]) => name)]) imports.delete(name);
      programs.push({ page: block.page, lines: [[...imports.values()].join(" ")], begins: [] });
      declared = new Set();
    }
    const { lines = [], begins = [] } = programs.at(-1) ?? {};
    begins.push(block.line);
    while (lines.length < block.line - 1) lines.push("");
    lines.push(...withoutKnown(parsed, imports).split("\n"));
    declared = new Set([...declared, ...names]);
    imports = new Map([...imports, ...parsed.imports]);
  }
  return programs.map(({ page, lines, begins }) => ({ page, begins, source: `${lines.join("\n")}\nexport {};\n` }));
}

/** Whether a program so far uses a name of `ambient.d.ts`. */
function isUsed(name: string, program: { readonly lines: readonly string[] } | undefined): boolean {
  const word = new RegExp(`\\b${name}\\b`);
  return ambient.has(name) && (program?.lines.some((line) => word.test(line)) ?? false);
}

/** The code of a block without the imports that are there already. */
function withoutKnown({ block, statements, imports }: Parsed, knownImports: Imports): string {
  let { code } = block;
  for (const { start, end, names } of statements.toReversed()) {
    const fresh = names.filter((name) => !knownImports.has(name)).flatMap((name) => imports.get(name) ?? []);
    const breaks = "\n".repeat(code.slice(start, end).split("\n").length - 1);
    if (fresh.length < names.length) code = code.slice(0, start) + fresh.join(" ") + breaks + code.slice(end);
  }
  return code;
}

function parse(block: Block): Parsed {
  const { program } = parseSync(`${block.page}.ts`, block.code, { lang: "ts", sourceType: "module" });
  const imports = new Map<string, string>();
  const statements: { start: number; end: number; names: string[] }[] = [];
  const names: string[] = [];
  for (const node of program.body) {
    if (node.type !== "ImportDeclaration") {
      names.push(...namesOf(node));
      continue;
    }
    const bound = node.specifiers.map((specifier) => [specifier.local.name, importOf(node, specifier)] as const);
    // A file of the page: its names are those of the program, or of the reader.
    if (!node.source.value.startsWith("./")) for (const [name, text] of bound) imports.set(name, text);
    statements.push({ start: node.start, end: node.end, names: bound.map(([name]) => name) });
  }
  return { block, names, imports, statements };
}

function importOf(
  { source, importKind }: ESTree.ImportDeclaration,
  specifier: ESTree.ImportDeclarationSpecifier,
): string {
  const { name } = specifier.local;
  const from = `from ${JSON.stringify(source.value)};`;
  const type = importKind === "type" ? "type " : "";
  if (specifier.type === "ImportDefaultSpecifier") return `import ${type}${name} ${from}`;
  if (specifier.type === "ImportNamespaceSpecifier") return `import ${type}* as ${name} ${from}`;
  const { imported } = specifier;
  const original = imported.type === "Identifier" ? imported.name : JSON.stringify(imported.value);
  const each = type === "" && specifier.importKind === "type" ? "type " : "";
  return `import ${type}{ ${each}${original} as ${name} } ${from}`;
}

/** The names that a statement declares at the top level. */
function namesOf(node: ESTree.Statement | ESTree.Directive): readonly string[] {
  switch (node.type) {
    case "ExportNamedDeclaration":
      return node.declaration === null ? [] : namesOf(node.declaration);
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id }) => boundBy(id));
    case "FunctionDeclaration":
    case "TSDeclareFunction":
    case "ClassDeclaration":
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return node.id === null ? [] : [node.id.name];
    default:
      return [];
  }
}

function boundBy(pattern: ESTree.BindingPattern | ESTree.BindingRestElement): readonly string[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name];
    case "AssignmentPattern":
      return boundBy(pattern.left);
    case "RestElement":
      return boundBy(pattern.argument);
    case "ArrayPattern":
      return pattern.elements.flatMap((element) => (element === null ? [] : boundBy(element)));
    case "ObjectPattern":
      return pattern.properties.flatMap((property) =>
        property.type === "RestElement" ? boundBy(property) : boundBy(property.value),
      );
  }
}
