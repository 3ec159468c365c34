import type { ESTree, ParseResult } from "rolldown/utils";

/** Gives the docstring of a node, without its examples. */
export type DocReader = (node: Positioned) => string;

interface Positioned {
  readonly start: number;
}

type Comment = ParseResult["comments"][number];

/** Finds the docstring right before a node. */
export function docstrings(source: string, comments: readonly Comment[]): DocReader {
  const findDoc = docComments(source, comments);
  return (node) => {
    const doc = findDoc(node);
    return doc === undefined ? "" : readProse(doc);
  };
}

/** Finds the comment of the docstring right before a node. */
export function docComments(
  source: string,
  comments: readonly Comment[],
): (node: Positioned) => DocComment | undefined {
  const docs = comments.filter(({ type, value }) => type === "Block" && value.startsWith("*"));
  return ({ start }) => {
    const doc = docs.findLast(({ end }) => end <= start);
    if (doc === undefined || source.slice(doc.end, start).trim() !== "") return undefined;
    const lines = doc.value.slice(1).split("\n");
    return { start: doc.start, end: doc.end, lines: lines.map((line) => line.replace(/^\s*\* ?/, "").trimEnd()) };
  };
}

/** A docstring in its file. */
export interface DocComment {
  readonly start: number;
  readonly end: number;
  /** Its lines without stars. */
  readonly lines: readonly string[];
}

const tag = "@example";

/** The lines before the examples. */
export function proseLines({ lines }: DocComment): readonly string[] {
  const end = lines.indexOf(tag);
  return end < 0 ? lines : lines.slice(0, end);
}

/** The prose in one line; a paragraph of its own stays one. */
function readProse(doc: DocComment): string {
  return proseLines(doc)
    .join("\n")
    .trim()
    .replaceAll(/(?<!\n)\n(?!\n)/g, " ");
}

/** The code of the examples. */
export function readExamples({ lines }: DocComment): readonly string[] {
  const examples = lines.join("\n").split(`\n${tag}\n`).slice(1);
  return examples.map((example) => /^```ts\n([\s\S]*?)\n```\n*$/.exec(example)?.[1] ?? example);
}

interface Callable {
  readonly params: readonly ESTree.ParamPattern[];
  readonly typeParameters?: ESTree.TSTypeParameterDeclaration | null;
  readonly returnType?: ESTree.TSTypeAnnotation | null;
}

export function callText(
  { params, typeParameters, returnType }: Callable,
  source: string,
  before: string | undefined,
): string {
  const generics = typeParameters ? source.slice(typeParameters.start, typeParameters.end) : "";
  const list = params.map((param) => paramText(param, source)).join(", ");
  const result = returnType && before !== undefined ? `${before}${typeText(returnType.typeAnnotation, source)}` : "";
  return `${generics}(${list})${result}`;
}

function paramText(param: ESTree.ParamPattern, source: string): string {
  if (param.type === "AssignmentPattern") {
    const text = paramText(param.left, source);
    if (text.includes(":")) return text.replace(":", "?:");
    return param.right.type === "Literal" ? `${text}?: ${typeof param.right.value}` : `${text}?`;
  }
  if (param.type === "ObjectPattern") {
    return `options: ${param.typeAnnotation ? typeText(param.typeAnnotation.typeAnnotation, source) : "object"}`;
  }
  return plainText(source.slice(param.start, param.end));
}

export function typeText(node: { readonly start: number; readonly end: number }, source: string): string {
  return plainText(source.slice(node.start, node.end));
}

/** A piece of source in one line, without what only a compiler needs. */
function plainText(text: string): string {
  return (
    text
      .replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "")
      .replaceAll(/\s+/g, " ")
      .replaceAll(/\breadonly /g, "")
      // Former names of options are in the changelog.
      .replaceAll(/\((\S+) & Former\w+\)/g, "$1")
      .replace(/^\| /, "")
      .replaceAll(/([([<]) | (?=[)\]>])/g, "$1")
      .replaceAll(/,(?=[)\]}>])/g, "")
      .trim()
  );
}
