/**
 * Makes the page of all error texts, `docs/reference/error-texts.md`, from the source.
 *
 *     node scripts/error-texts.ts [--check]
 *
 * With `--check` nothing is written, and it leaves with 1 when the page is not what the source says.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { type ESTree, parseSync, Visitor } from "rolldown/utils";

type Argument = ESTree.Argument | ESTree.Expression | undefined;

interface ErrorText {
  readonly text: string;
  /** The `code` of an `A2AError`, else the class or the function that makes the error. */
  readonly kind: string;
  readonly room: string;
}

const page = new URL("../docs/reference/error-texts.md", import.meta.url);
const texts = globSync("src/**/*.ts").toSorted().flatMap(textsOf);
const content = document(texts);
if (!process.argv.includes("--check")) writeFileSync(page, content);
else if (readFileSync(page, "utf8") !== content) {
  process.stderr.write("the error texts have changed: run npm run error-texts\n");
  process.exitCode = 1;
}

/** Texts in the calls and constructors of one file that make errors. */
function textsOf(path: string): ErrorText[] {
  const source = readFileSync(path, "utf8");
  const found: ErrorText[] = [];
  const room = path.split("/")[1]?.replace(/\.ts$/, "") ?? "";
  const note = ({ callee, arguments: args }: ESTree.NewExpression | ESTree.CallExpression): void => {
    if (callee.type !== "Identifier" || !/(?:Error|^invalid\w*|^tooMany|^unfit)$/.test(callee.name)) return;
    const [first, ...others] = args;
    const isCoded = /^(?:A2AError|tooMany)$/.test(callee.name);
    const kind = isCoded && first?.type === "Literal" ? String(first.value) : kindOf(callee.name);
    for (const argument of isCoded ? others.slice(0, 1) : args.slice(0, 2)) {
      for (const text of stringsOf(argument, source)) found.push({ text, kind, room });
    }
  };
  new Visitor({ NewExpression: note, CallExpression: note }).visit(parseSync(path, source, { lang: "ts" }).program);
  return found;
}

function kindOf(callee: string): string {
  return /^invalid(?:Params|Request)$/.test(callee) ? callee : callee.replace(/^[a-z]\w*$/, "others");
}

/** The sentences of an expression, with its holes as they are named in the source. */
function stringsOf(node: Argument, source: string): string[] {
  if (node === undefined) return [];
  if (node.type === "Literal") return typeof node.value === "string" && node.value.includes(" ") ? [node.value] : [];
  if (node.type === "TemplateLiteral") {
    const holes = node.expressions.map(({ start, end }) => `{${holeName(source.slice(start, end))}}`);
    return [node.quasis.map(({ value }, index) => `${value.cooked ?? value.raw}${holes[index] ?? ""}`).join("")];
  }
  if (node.type === "ConditionalExpression") {
    return [...stringsOf(node.consequent, source), ...stringsOf(node.alternate, source)];
  }
  if (node.type === "BinaryExpression" && node.left.type !== "PrivateIdentifier") {
    const [left, right] = [stringsOf(node.left, source), stringsOf(node.right, source)];
    return left.flatMap((begin) => right.map((end) => begin + end));
  }
  if (node.type !== "ObjectExpression") return [];
  return node.properties.flatMap((property) => {
    if (property.type !== "Property" || property.key.type !== "Identifier") return [];
    return property.key.name === "description" ? stringsOf(property.value as ESTree.Expression, source) : [];
  });
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
