import { type ESTree, parseSync, Visitor } from "rolldown/utils";

type Node = ESTree.Expression | ESTree.PrivateIdentifier;

/** The texts of a TypeScript file, as their readers see them, with `…` for what is filled in. */
export function textsOf(path: string, source: string): readonly string[] {
  const texts: string[] = [];
  const note = (node: Node): void => void texts.push(textOf(node));
  new Visitor({ Literal: note, TemplateLiteral: note, BinaryExpression: note }).visit(programOf(path, source));
  return texts;
}

function textOf(node: Node): string {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : "…";
  if (node.type === "TemplateLiteral") return node.quasis.map(({ value }) => value.cooked ?? value.raw).join("…");
  if (node.type === "BinaryExpression" && node.operator === "+") return textOf(node.left) + textOf(node.right);
  return "…";
}

/** The names in a TypeScript file, and the words of its texts. */
export function namesOf(path: string, source: string): ReadonlySet<string> {
  const names = new Set<string>();
  const note = ({ name }: { readonly name: string }): void => void names.add(name);
  new Visitor({ Identifier: note, PrivateIdentifier: note }).visit(programOf(path, source));
  for (const text of textsOf(path, source)) for (const word of text.match(/[A-Za-z_]\w*/g) ?? []) names.add(word);
  return names;
}

const suites: ReadonlySet<string> = new Set(["it", "describe"]);

/** A comment `// Requirements: V1-SEND-2, IOP-1`, and what it stands above. */
export interface Citation {
  readonly path: string;
  readonly line: number;
  readonly ids: readonly string[];
  /** The title of the test or group; `undefined` when the comment stands above something else. */
  readonly title: string | undefined;
}

/** The citations in a TypeScript file, above tests and their groups: `it`, `describe.each(…)` and the like. */
export function citationsOf(path: string, source: string): readonly Citation[] {
  const { program, comments } = parse(path, source);
  const titles = new Map<number, string>();
  new Visitor({
    CallExpression: ({ callee, arguments: [title], start }) => {
      if (title === undefined || !suites.has(rootOf(callee) ?? "")) return;
      if (title.type === "Literal" || title.type === "TemplateLiteral") titles.set(start, textOf(title));
    },
  }).visit(program);
  return comments.flatMap(({ value, start, end }) => {
    const ids = /^ Requirements: (.+)$/.exec(value)?.[1]?.split(", ");
    if (ids === undefined) return [];
    const [gap = ""] = /^(?:\s+|\/\/[^\n]*)*/.exec(source.slice(end)) ?? [];
    const line = source.slice(0, start).split("\n").length;
    return [{ path, line, ids, title: titles.get(end + gap.length) }];
  });
}

/** The name that a chain of members and calls begins with: `it` of `it.each(rows)`. */
function rootOf(node: ESTree.Node): string | undefined {
  if (node.type === "Identifier") return node.name;
  if (node.type === "MemberExpression") return rootOf(node.object);
  return node.type === "CallExpression" ? rootOf(node.callee) : undefined;
}

/** The names that a TypeScript file imports from a module. */
export function importsFrom(path: string, source: string, module: string): readonly string[] {
  const names: string[] = [];
  new Visitor({
    ImportDeclaration: ({ source: from, specifiers }) => {
      if (from.value === module) names.push(...specifiers.map(({ local }) => local.name));
    },
  }).visit(programOf(path, source));
  return names;
}

/** How often a TypeScript file calls functions of these names. */
export function callsOf(path: string, source: string, names: readonly string[]): number {
  let calls = 0;
  new Visitor({
    CallExpression: ({ callee }) => {
      if (callee.type === "Identifier" && names.includes(callee.name)) calls += 1;
    },
  }).visit(programOf(path, source));
  return calls;
}

/** The types that a generic type is given in a TypeScript file: `T` of `Generic<T>`. */
export function typeArgumentsOf(path: string, source: string, generic: string): readonly string[] {
  const names: string[] = [];
  new Visitor({
    TSTypeReference: ({ typeName, typeArguments }) => {
      if (typeName.type !== "Identifier" || typeName.name !== generic) return;
      const [first] = typeArguments?.params ?? [];
      if (first?.type === "TSTypeReference" && first.typeName.type === "Identifier") names.push(first.typeName.name);
    },
  }).visit(programOf(path, source));
  return names;
}

function programOf(path: string, source: string): ESTree.Program {
  return parse(path, source).program;
}

function parse(path: string, source: string): Pick<ReturnType<typeof parseSync>, "program" | "comments"> {
  const { program, comments, errors } = parseSync(path, source, { lang: "ts", sourceType: "module" });
  if (errors.length > 0) throw new Error(`${path}: ${errors.map(({ message }) => message).join("; ")}`);
  return { program, comments };
}
