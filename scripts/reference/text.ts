import type { ESTree, ParseResult } from "rolldown/utils";

/** Gives the docstring of a node. */
export type DocReader = (node: { readonly start: number }) => string;

/** Finds the docstring right before a node. */
export function docstrings(source: string, comments: ParseResult["comments"]): DocReader {
  const docs = comments.filter(({ type, value }) => type === "Block" && value.startsWith("*"));
  return ({ start }) => {
    const doc = docs.findLast(({ end }) => end <= start);
    return doc === undefined || source.slice(doc.end, start).trim() !== "" ? "" : textOf(doc.value);
  };
}

/** The text of a docstring in one line; a paragraph of its own stays one. */
function textOf(comment: string): string {
  const lines = comment.slice(1).split("\n");
  return lines
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .trim()
    .replaceAll(/(?<!\n)\n(?!\n)/g, " ");
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
