/**
 * Makes the page of all error texts, `docs/reference/error-texts.md`, from the source.
 *
 *     node scripts/error-texts.ts [--check]
 *
 * With `--check` nothing is written, and it leaves with 1 when the page is not what the source says.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ESTree, parseSync, Visitor } from "rolldown/utils";

type Argument = ESTree.Argument | ESTree.Expression | undefined;
type Call = ESTree.NewExpression | ESTree.CallExpression;

interface ErrorText {
  readonly text: string;
  /** The `code` of an `A2AError`, else the class or the function that makes the error. */
  readonly kind: string;
  readonly room: string;
}

/** Texts by the name of the parameter that they are given for. */
type Texts = ReadonlyMap<string, readonly string[]>;

/** The call or constructor that makes an error. */
interface ErrorCall {
  readonly call: Call;
  /** The source that it is in. */
  readonly source: string;
}

/** A function that makes an error of its parameters: its callers have the texts. */
interface Maker {
  readonly params: readonly string[];
  readonly calls: ErrorCall[];
}

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly source: string;
  readonly program: ESTree.Program;
  readonly makers: ReadonlyMap<string, Maker>;
  /** Calls that have their texts themselves. */
  readonly calls: readonly ErrorCall[];
}

const page = new URL("../docs/reference/error-texts.md", import.meta.url);
const files = globSync("src/**/*.ts").toSorted().map(readSource);
const makersOf = new Map(files.map(({ path, makers }) => [path, makers]));
const calledMakers = new Set<Maker>();
const content = document([...files.flatMap(textsOf), ...files.flatMap(otherTextsOf)]);
if (!process.argv.includes("--check")) writeFileSync(page, content);
else if (readFileSync(page, "utf8") !== content) {
  process.stderr.write("the error texts have changed: run npm run error-texts\n");
  process.exitCode = 1;
}

function readSource(path: string): SourceFile {
  const source = readFileSync(path, "utf8");
  const { program } = parseSync(path, source, { lang: "ts" });
  const makers = new Map<string, Maker>();
  const calls: ErrorCall[] = [];
  const enclosing: { readonly name: string; readonly params: readonly string[] }[] = [];
  const begin = ({ id, params }: ESTree.Function): void => {
    enclosing.push({ name: id?.name ?? "", params: params.map(nameOf) });
  };
  const note = (call: Call): void => {
    if (call.callee.type !== "Identifier" || !isErrorName(call.callee.name)) return;
    const inner = enclosing.at(-1);
    const uses = inner !== undefined && textArguments(call).some((each) => mentions(each, inner.params));
    if (!uses) return void calls.push({ call, source });
    const maker = makers.get(inner.name) ?? { params: inner.params, calls: [] };
    maker.calls.push({ call, source });
    makers.set(inner.name, maker);
  };
  new Visitor({
    FunctionDeclaration: begin,
    "FunctionDeclaration:exit": () => void enclosing.pop(),
    NewExpression: note,
    CallExpression: note,
  }).visit(program);
  return { path, room: path.split("/")[1]?.replace(/\.ts$/, "") ?? "", source, program, makers, calls };
}

function isErrorName(name: string): boolean {
  return /(?:Error|^invalid(?:Params|Request))$/.test(name);
}

function nameOf(param: ESTree.ParamPattern): string {
  return param.type === "Identifier" ? param.name : "";
}

/** Texts of the errors that one file makes, or has made by a function. */
function textsOf({ path, room, source, program, makers, calls }: SourceFile): ErrorText[] {
  const errorTexts = calls.flatMap((each) => textsOfCall(each, new Map()));
  const makersByName = new Map(makers);
  new Visitor({
    ImportDeclaration: ({ source: from, specifiers }) => {
      const importedMakers = makersOf.get(join(dirname(path), from.value.replace(/\.js$/, ".ts")));
      for (const { local } of specifiers) {
        const maker = importedMakers?.get(local.name);
        if (maker !== undefined) makersByName.set(local.name, maker);
      }
    },
    CallExpression: ({ callee, arguments: args }) => {
      const maker = callee.type === "Identifier" ? makersByName.get(callee.name) : undefined;
      if (maker === undefined) return;
      calledMakers.add(maker);
      const textsByName = new Map(maker.params.map((name, index) => [name, stringsOf(args[index], source)]));
      errorTexts.push(...maker.calls.flatMap((each) => textsOfCall(each, textsByName)));
    },
  }).visit(program);
  return errorTexts.map((each) => ({ ...each, room }));
}

/** Texts of the functions of a file that are called in other ways than by their names. */
function otherTextsOf({ room, makers }: SourceFile): ErrorText[] {
  const uncalledMakers = [...makers.values()].filter((maker) => !calledMakers.has(maker));
  const calls = uncalledMakers.flatMap((maker) => maker.calls).flatMap((each) => textsOfCall(each, new Map()));
  return calls.map((each) => ({ ...each, room }));
}

/** `textsByName`: the texts of parameters. */
function textsOfCall({ call, source }: ErrorCall, textsByName: Texts): Omit<ErrorText, "room">[] {
  const { callee, arguments: args } = call;
  const name = callee.type === "Identifier" ? callee.name : "";
  const codes = hasCode(name) ? stringsOf(args[0], source, textsByName) : [];
  const kinds = codes.length > 0 ? codes : [name];
  const texts = textArguments(call).flatMap((each) => stringsOf(each, source, textsByName));
  return texts.filter((text) => /[ {]/.test(text)).flatMap((text) => kinds.map((kind) => ({ text, kind })));
}

function textArguments({ callee, arguments: args }: Call): readonly Argument[] {
  return callee.type === "Identifier" && hasCode(callee.name) ? args.slice(1, 2) : args.slice(0, 2);
}

/** Whether the first argument of what makes an error is its code. */
function hasCode(name: string): boolean {
  return ["A2AError", "CallError", "MaskedError", "maskedError"].includes(name);
}

/** Whether the text of an expression depends on one of these names. */
function mentions(node: Argument, names: readonly string[]): boolean {
  if (node === undefined) return false;
  if (node.type === "Identifier") return names.includes(node.name);
  if (node.type === "TemplateLiteral") return node.expressions.some((each) => mentions(each, names));
  if (node.type === "BinaryExpression" && node.left.type !== "PrivateIdentifier") {
    return mentions(node.left, names) || mentions(node.right, names);
  }
  return false;
}

/** The texts of an expression, with its holes as they are named in the source. */
function stringsOf(node: Argument, source: string, textsByName: Texts = new Map()): readonly string[] {
  if (node === undefined) return [];
  if (node.type === "Literal") return typeof node.value === "string" ? [node.value] : [];
  if (node.type === "Identifier") return textsByName.get(node.name) ?? [];
  if (node.type === "TemplateLiteral") return templateTexts(node, source, textsByName);
  if (node.type === "ConditionalExpression") {
    return [...stringsOf(node.consequent, source, textsByName), ...stringsOf(node.alternate, source, textsByName)];
  }
  if (node.type === "BinaryExpression" && node.left.type !== "PrivateIdentifier") {
    const [left, right] = [stringsOf(node.left, source, textsByName), stringsOf(node.right, source, textsByName)];
    return left.flatMap((begin) => right.map((end) => begin + end));
  }
  if (node.type !== "ObjectExpression") return [];
  return node.properties.flatMap((property) => {
    if (property.type !== "Property" || property.key.type !== "Identifier") return [];
    return property.key.name === "description"
      ? stringsOf(property.value as ESTree.Expression, source, textsByName)
      : [];
  });
}

function templateTexts({ quasis, expressions }: ESTree.TemplateLiteral, source: string, textsByName: Texts): string[] {
  const text = (index: number): string => quasis[index]?.value.cooked ?? quasis[index]?.value.raw ?? "";
  return expressions.reduce(
    (begins, node, index) => {
      // A single word says less than the name of its hole.
      const makersByName =
        node.type === "Identifier" ? textsByName.get(node.name)?.filter((each) => each.includes(" ")) : undefined;
      const hole = `{${holeName(source.slice(node.start, node.end))}}`;
      const holes = makersByName === undefined || makersByName.length === 0 ? [hole] : makersByName;
      return begins.flatMap((begin) => holes.map((each) => begin + each + text(index + 1)));
    },
    [text(0)],
  );
}

/** The last name of an expression: `limits.maxBytes` is `maxBytes`. */
function holeName(expression: string): string {
  return /([A-Za-z_]\w*)\W*$/.exec(expression)?.[1] ?? "…";
}

function document(all: readonly ErrorText[]): string {
  const kinds = Map.groupBy(all, ({ kind }) => kind);
  const sections = [...kinds].toSorted(([a], [b]) => a.localeCompare(b)).map(([kind, rows]) => section(kind, rows));
  const head = `# Error texts

Every text that Trivium gives an error, by the \`code\` of an \`A2AError\`, else by the class of the error. \`{name}\` is filled in; the second column is the
folder of \`src/\`. [Troubleshooting](../guides/troubleshooting.md) says what to do about the common ones, [errors](errors.md) explains the codes.
\`npm run error-texts\` makes this page.
`;
  return `${head}\n${sections.join("\n")}`;
}

function section(kind: string, rows: readonly ErrorText[]): string {
  const rooms = Map.groupBy(rows, ({ text }) => text);
  const lines = [...rooms]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([text, each]) => {
      const names = [...new Set(each.map(({ room }) => room))].join(", ");
      return `| ${text.replaceAll("|", "\\|").replaceAll("\n", " ")} | ${names} |`;
    });
  return `## ${kind}\n\n| text | folder |\n|---|---|\n${lines.join("\n")}\n`;
}
