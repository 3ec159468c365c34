import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { type ESTree, parseSync } from "rolldown/utils";
import { classMembers, interfaceMember, type Member, type Place } from "./members.ts";
import { callText, type DocComment, docComments, docstrings, typeText } from "./text.ts";

/** A declaration with its docstring, from the source. */
export interface Declaration {
  readonly name: string;
  readonly file: string;
  readonly kind: "interface" | "class" | "function" | "type" | "const";
  readonly doc: string;
  /** The docstrings themselves, one for each overload that has one. */
  readonly comments: readonly DocComment[];
  /** How it is called, one for each overload; the type of a constant, or what a type stands for. */
  readonly signatures: readonly string[];
  readonly members: readonly Member[];
  /** Names of what an interface or a class extends, as they are known in its file. */
  readonly parents: readonly string[];
}

interface Module {
  readonly declarations: ReadonlyMap<string, Declaration>;
  /** Names that it imports, or gives on: where they are from, and what they are called there. */
  readonly links: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
  /** Files from which it exports everything. */
  readonly stars: readonly string[];
  /** Names that it exports. */
  readonly exports: ReadonlySet<string>;
}

const modules = new Map<string, Module>();

export function moduleAt(file: string): Module {
  const existing = modules.get(file);
  if (existing !== undefined) return existing;
  const module = readModule(file);
  modules.set(file, module);
  return module;
}

/** The declaration that a name means in a file; `undefined` for one from a package or from generated code. */
export function declarationOf(file: string, name: string): Declaration | undefined {
  if (!file.startsWith("src/")) return undefined;
  const { declarations, links, stars } = moduleAt(file);
  const declaration = declarations.get(name);
  if (declaration !== undefined) return declaration;
  const link = links.get(name);
  if (link !== undefined) return declarationOf(link.file, link.name);
  return stars.map((star) => declarationOf(star, name)).find((declaration) => declaration !== undefined);
}

function readModule(file: string): Module {
  const source = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, source, { lang: "ts" });
  const docOf = docstrings(source, comments);
  const commentBefore = docComments(source, comments);
  const declarations = new Map<string, Declaration>();
  const links = new Map<string, { file: string; name: string }>();
  const stars: string[] = [];
  const exportedNames = new Set<string>();
  const fileOf = (from: string): string =>
    from.startsWith(".") ? posix.join(posix.dirname(file), from.replace(/\.js$/, ".ts")) : from;
  const link = (local: string, { from, name }: { from: string; name: string }): void => {
    links.set(local, { file: fileOf(from), name });
  };
  for (const node of program.body) {
    if (node.type === "ImportDeclaration") {
      for (const each of node.specifiers) {
        if (each.type === "ImportSpecifier")
          link(each.local.name, { from: node.source.value, name: nameOf(each.imported) });
      }
    } else if (node.type === "ExportAllDeclaration") {
      stars.push(fileOf(node.source.value));
    } else if (node.type === "ExportNamedDeclaration" && node.source !== null) {
      for (const { local, exported: as } of node.specifiers) {
        link(nameOf(as), { from: node.source.value, name: nameOf(local) });
        exportedNames.add(nameOf(as));
      }
    } else {
      const isExport = node.type === "ExportNamedDeclaration";
      const inner = isExport ? node.declaration : node;
      const found = inner === null ? undefined : declarationIn(inner, { file, source, docOf }, docOf(node));
      if (found === undefined || inner === null) continue;
      const comment = commentBefore(node);
      const declaration = { ...found, comments: comment === undefined ? [] : [comment] };
      declarations.set(declaration.name, mergeOverload(declarations.get(declaration.name), declaration, inner));
      if (isExport) exportedNames.add(declaration.name);
    }
  }
  return { declarations, links, stars, exports: exportedNames };
}

/** Overloads are one declaration, without their implementation. A constant may share its name with a type. */
function mergeOverload(before: Declaration | undefined, declaration: Declaration, node: ESTree.Node): Declaration {
  if (before === undefined || before.kind !== "function") return before ?? declaration;
  if (node.type === "FunctionDeclaration") return before;
  return {
    ...before,
    doc: [before.doc, declaration.doc].filter((doc) => doc !== "").join("\n\n"),
    comments: [...before.comments, ...declaration.comments],
    signatures: [...before.signatures, ...declaration.signatures],
  };
}

function declarationIn(node: ESTree.Statement | ESTree.Directive, place: Place, doc: string): Declaration | undefined {
  const base = { file: place.file, doc, comments: [], signatures: [], members: [], parents: [] };
  switch (node.type) {
    case "TSInterfaceDeclaration":
      return {
        ...{ ...base, name: node.id.name, kind: "interface" },
        members: node.body.body.flatMap((member) => interfaceMember(member, place)),
        parents: node.extends.map((parent) => typeText(parent, place.source)),
      };
    case "ClassDeclaration":
      return {
        ...{ ...base, name: node.id?.name ?? "", kind: "class" },
        members: classMembers(node.body.body, place),
        parents: node.superClass?.type === "Identifier" ? [node.superClass.name] : [],
      };
    case "TSTypeAliasDeclaration":
      return { ...base, name: node.id.name, kind: "type", signatures: [typeText(node.typeAnnotation, place.source)] };
    case "TSDeclareFunction":
    case "FunctionDeclaration": {
      const name = node.id?.name ?? "";
      return { ...base, name, kind: "function", signatures: [`${name}${callText(node, place.source, ": ")}`] };
    }
    case "VariableDeclaration": {
      const [declarator] = node.declarations;
      if (declarator?.id.type !== "Identifier") return undefined;
      const type = declarator.id.typeAnnotation?.typeAnnotation;
      const signatures = type === undefined ? [] : [typeText(type, place.source)];
      return { ...base, name: declarator.id.name, kind: "const", signatures };
    }
    default:
      return undefined;
  }
}

function nameOf(node: ESTree.ModuleExportName): string {
  return node.type === "Literal" ? String(node.value) : node.name;
}
