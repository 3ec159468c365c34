import { parseSync, Visitor } from "rolldown/utils";

/** A place where one module imports another. */
interface Import {
  readonly line: number;
  readonly specifier: string;
  /** `type`: erased when compiled. `lazy`: `import()`. */
  readonly kind: "value" | "type" | "lazy";
}

interface Text {
  readonly line: number;
  readonly text: string;
}

/** What the architecture rules need of a TypeScript file. Lines count from 1. */
export interface SourceFile {
  /** Relative to the project's root, with slashes: `src/core/ports.ts`. */
  readonly path: string;
  readonly imports: readonly Import[];
  /** String literals and the literal parts of templates, as written. */
  readonly strings: readonly Text[];
  readonly comments: readonly Text[];
  /** Lines with the type `any`. */
  readonly anys: readonly number[];
  /** Lines that use the global `console`. */
  readonly consoles: readonly number[];
  readonly lines: readonly string[];
}

type LineAt = (node: { readonly start: number }) => number;

export function parseSource(path: string, source: string): SourceFile {
  const { program, comments, errors } = parseSync(path, source, { lang: "ts", sourceType: "module" });
  if (errors.length > 0) throw new Error(`${path}: ${errors.map(({ message }) => message).join("; ")}`);
  const lineAt: LineAt = ({ start }) => source.slice(0, start).split("\n").length;
  const imports: Import[] = [];
  const strings: Text[] = [];
  const anys: number[] = [];
  const consoles: number[] = [];
  const name = (node: { start: number; source: unknown }, kind: Import["kind"] = "value") => {
    const specifier = stringOf(node.source);
    if (specifier !== undefined) imports.push({ line: lineAt(node), specifier, kind });
  };
  new Visitor({
    ImportDeclaration: (node) => name(node, node.importKind),
    ExportNamedDeclaration: (node) => name(node, node.exportKind),
    ExportAllDeclaration: (node) => name(node, node.exportKind),
    TSImportType: (node) => name(node, "type"),
    ImportExpression: (node) => name(node, "lazy"),
    Literal: (node) => {
      if (typeof node.value === "string") strings.push({ line: lineAt(node), text: (node.raw ?? "").slice(1, -1) });
    },
    TemplateElement: (node) => strings.push({ line: lineAt(node), text: node.value.raw }),
    TSAnyKeyword: (node) => anys.push(lineAt(node)),
    MemberExpression: ({ object }) => {
      if (object.type === "Identifier" && object.name === "console") consoles.push(lineAt(object));
    },
  }).visit(program);
  return {
    path,
    imports,
    strings,
    comments: comments.map((comment) => ({ line: lineAt(comment), text: comment.value })),
    anys,
    consoles,
    lines: source.split("\n"),
  };
}

function stringOf(node: unknown): string | undefined {
  const value = typeof node === "object" && node !== null && "value" in node ? node.value : undefined;
  return typeof value === "string" ? value : undefined;
}
