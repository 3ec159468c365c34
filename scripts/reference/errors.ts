import { readFileSync } from "node:fs";
import { type ESTree, parseSync } from "rolldown/utils";
import { docstrings } from "./text.ts";

const file = "src/protocol/errors.ts";

/** The error table: each code with its docstring, its form in each binding, and the words that its messages begin with. */
export function errorRows(): string {
  const source = readFileSync(file, "utf8");
  const { program, comments } = parseSync(file, source, { lang: "ts" });
  const docOf = docstrings(source, comments);
  const lines = tableIn(program).map(({ key, property }) => {
    const text = source.slice(property.start, property.end);
    const [, reason, jsonRpc, grpc, http] = /\brow\("(\w+)", (-?\d+), (\d+), (\d+),/.exec(text) ?? [];
    if (reason === undefined) throw new Error(`${file}: ${key} has no row`);
    const [, words] = /\bwords: "([^"]+)"/.exec(text) ?? [];
    const begins = words === undefined ? "" : `\`${words}\``;
    const cells = [`\`${key}\``, `\`${reason}\``, jsonRpc, grpc, http, begins, docOf(property)];
    return `| ${cells.join(" | ")} |`;
  });
  const head = "| `error.code` | reason | JSON-RPC | gRPC | HTTP | message begins with | meaning |";
  return [head, "|---|---|---:|---:|---:|---|---|", ...lines].join("\n");
}

function tableIn(program: ESTree.Program) {
  for (const node of program.body) {
    if (node.type !== "ExportNamedDeclaration" || node.declaration?.type !== "VariableDeclaration") continue;
    const [declarator] = node.declaration.declarations;
    if (declarator?.id.type !== "Identifier" || declarator.id.name !== "errorTable") continue;
    return objectIn(declarator.init).properties.flatMap((property) =>
      property.type === "Property" && property.key.type === "Identifier" ? [{ key: property.key.name, property }] : [],
    );
  }
  throw new Error(`${file} has no errorTable`);
}

function objectIn(node: ESTree.Expression | null): ESTree.ObjectExpression {
  if (node?.type === "ObjectExpression") return node;
  if (node?.type === "TSAsExpression" || node?.type === "TSSatisfiesExpression") return objectIn(node.expression);
  throw new Error(`${file}: errorTable is no object`);
}
