import { globSync, readFileSync } from "node:fs";
import { type ESTree, parseSync, Visitor } from "rolldown/utils";

const levels = ["error", "warn", "info", "debug"] as const;

interface LogRecord {
  readonly level: (typeof levels)[number];
  readonly message: string;
  /** Names of its fields; `…` where the call does not spell them. */
  readonly fields: readonly string[];
}

/** Every record that the source logs with a message of its own, by level. The command line logs nothing beside. */
export function logRows(): string {
  const records = globSync("src/**/*.ts")
    .filter((path) => !path.startsWith("src/cli/"))
    .toSorted()
    .flatMap(recordsOf);
  const byText = Map.groupBy(records, ({ level, message }) => `\`${level}\` | ${message}`);
  const rank = (text: string): number => levels.findIndex((level) => text.startsWith(`\`${level}\``));
  const lines = [...byText]
    .toSorted(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b, "en"))
    .map(([text, each]) => {
      const fields = new Set(each.flatMap((record) => record.fields));
      return `| ${text} | ${[...fields].map((field) => (field === "…" ? field : `\`${field}\``)).join(", ") || "none"} |`;
    });
  return ["| level | `msg` | fields |", "|---|---|---|", ...lines].join("\n");
}

function recordsOf(path: string): readonly LogRecord[] {
  const source = readFileSync(path, "utf8");
  const records: LogRecord[] = [];
  new Visitor({
    CallExpression({ callee, arguments: [fields, message] }) {
      if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return;
      const { name } = callee.property;
      const level = levels.find((each) => each === name);
      if (level === undefined || !/logger(?:\(.*\))?$/i.test(source.slice(callee.object.start, callee.object.end)))
        return;
      for (const text of textsOf(message)) records.push({ level, message: text, fields: namesIn(fields) });
    },
  }).visit(parseSync(path, source, { lang: "ts" }).program);
  return records;
}

function textsOf(node: ESTree.Argument | undefined): readonly string[] {
  if (node?.type === "Literal" && typeof node.value === "string") return [node.value];
  return node?.type === "ConditionalExpression" ? [...textsOf(node.consequent), ...textsOf(node.alternate)] : [];
}

/** The keys of an object, also of one that a function completes, and of both where one of two is logged. */
function namesIn(node: ESTree.Argument | undefined): readonly string[] {
  if (node?.type === "CallExpression") return node.arguments.flatMap(namesIn);
  if (node?.type === "ConditionalExpression") return [node.consequent, node.alternate].flatMap(namesIn);
  if (node?.type !== "ObjectExpression") return ["…"];
  return node.properties.flatMap((property) =>
    property.type === "Property" && property.key.type === "Identifier" ? [property.key.name] : [],
  );
}
