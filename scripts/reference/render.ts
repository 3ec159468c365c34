import { type Declaration, declarationOf } from "./declarations.ts";
import type { Member } from "./members.ts";
import { readExamples } from "./text.ts";

/** Where names are documented: `client.md#answer`. */
export type Places = ReadonlyMap<string, string>;

/** A section for a declaration: its docstring, how it is called, and a table of its members. */
export function section(declaration: Declaration, title: string, places: Places): string {
  const { kind, doc, comments, signatures, name } = declaration;
  const documentedSignatures = signatures.filter((signature) => !/\b(?:typeof|keyof)\b/.test(signature));
  const before = kind === "type" ? `${name} = ` : kind === "const" ? `${name}: ` : "";
  const calls = documentedSignatures.map((signature) => `\`${before}${signature}\``);
  // Not `ts`: these are checked where they are from, and import nothing.
  const examples = comments.flatMap(readExamples).map((example) => `\`\`\`typescript\n${example}\n\`\`\``);
  const parts = [`### \`${title}\``, linkNames(doc), calls.join("<br>\n"), ...examples, table(declaration, places)];
  return parts.filter((part) => part !== "").join("\n\n");
}

/** A table of functions or types, one in each row. */
export function rows(declarations: readonly Declaration[]): string {
  const lines = declarations.map((declaration) => {
    const { kind, name, doc, signatures } = declaration;
    const calls = kind === "function" ? signatures : [callOf(declaration)];
    return `| <a id="${name.toLowerCase()}"></a>${calls.map(code).join("<br>")} | ${cell(linkNames(doc))} |`;
  });
  return ["| | |", "|---|---|", ...lines].join("\n");
}

/** How a constant that is a function is called; the name of any other. */
function callOf({ name, file, signatures }: Declaration): string {
  const type = declarationOf(file, signatures[0] ?? "")?.signatures[0];
  return type?.startsWith("(") === true ? `${name}${type.replace(") => ", "): ")}` : name;
}

interface Family {
  readonly members: readonly Member[];
  readonly inheritedFrom: readonly string[];
}

function table(declaration: Declaration, places: Places): string {
  const { members, inheritedFrom } = membersOf(declaration, places);
  const more = inheritedFrom.map((name) => parentText(name, places)).join(" and ");
  if (members.length === 0) return more === "" ? "" : `The members are those of ${more}.`;
  // Options have defaults; any other member may be missing.
  const isOptions = /(?:Options|Settings|Limits)$/.test(declaration.name);
  const splitMembers = members.map((member) => ({ ...member, ...(isOptions ? splitDoc(member) : asWritten(member)) }));
  const hasDefaults = splitMembers.some(({ fallback }) => fallback !== "");
  const hasTypes = splitMembers.some(({ type }) => !/^number(?: \| (?:undefined|false))?$/.test(type));
  const row = (cells: readonly (string | undefined)[]): string =>
    `| ${cells.filter((each) => each !== undefined).join(" | ")} |`;
  const head = ["name", hasTypes ? "type" : undefined, hasDefaults ? "default" : undefined, "meaning"];
  const lines = splitMembers.map(({ label, type, meaning, fallback }) =>
    row([
      `\`${label}\``,
      hasTypes ? typeCell(type, places) : undefined,
      hasDefaults ? cell(fallback) : undefined,
      cell(linkNames(meaning)),
    ]),
  );
  const text = [row(head), row(head.map((name) => name && "---")), ...lines].join("\n");
  return more === "" ? text : `${text}\n\nThe members of ${more} as well.`;
}

/** A parent in words: `Omit<AgentOptions, "card" | "agent">` is `AgentOptions` without these members. */
function parentText(type: string, places: Places): string {
  const [, parent, omittedNames] = /^Omit<(\w+), ([^>]+)>$/.exec(type) ?? [];
  if (parent === undefined || omittedNames === undefined) return typeCell(type, places);
  const names = [...omittedNames.matchAll(/"(\w+)"/g)].map(([, name = ""]) => code(name));
  return `${typeCell(parent, places)} (without ${names.join(", ")})`;
}

/** The members with those of parents that have no section, and the parents that have one. */
function membersOf({ members, parents, file }: Declaration, places: Places): Family {
  const all = members.filter(({ doc }) => !doc.startsWith("@deprecated"));
  const inheritedFrom: string[] = [];
  for (const name of parents) {
    const parent = declarationOf(file, name);
    const parentMembers = parent === undefined || places.has(name) ? undefined : membersOf(parent, places);
    all.push(...(parentMembers?.members ?? []));
    inheritedFrom.push(...(parentMembers?.inheritedFrom ?? [name]));
  }
  return { members: all, inheritedFrom };
}

interface DescribedMember {
  readonly label: string;
  readonly meaning: string;
  readonly fallback: string;
}

/** The default out of a docstring, and the rest of it. */
function splitDoc({ name, doc, optional }: Member): DescribedMember {
  const [, before = "", values, after = ""] =
    /^([\s\S]*?)\bDefault: ([\s\S]*?)\.(?= [A-Z`]|\s*$)([\s\S]*)$/.exec(doc) ?? [];
  if (values === undefined) return { label: name, meaning: doc, fallback: optional ? "none" : "required" };
  return { label: name, meaning: `${before.trim()} ${after.trim()}`.trim(), fallback: values };
}

function asWritten({ name, doc, optional }: Member): DescribedMember {
  return { label: optional ? `${name}?` : name, meaning: doc, fallback: "" };
}

/** A type; it links to the section of a name in it, if there is only one. */
function typeCell(type: string, places: Places): string {
  const names = new Set([...type.matchAll(/\b[A-Z]\w+/g)].map(([name]) => name).filter((name) => places.has(name)));
  const [only] = names;
  return names.size === 1 && !type.includes("=>") && only !== undefined
    ? `[${code(type)}](${places.get(only)})`
    : code(type);
}

/** Paths of pages become links. */
function linkNames(doc: string): string {
  return doc.replaceAll(/\bdocs\/([\w/-]+\.md)/g, (_, path: string) => `[${path}](../${path})`);
}

const code = (text: string): string => `\`${text.replaceAll("|", "\\|")}\``;

function cell(text: string): string {
  return text.replaceAll(/\s*\n+\s*/g, "<br>").replaceAll(/(?<!\\)\|/g, "\\|");
}
