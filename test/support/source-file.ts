/** A place where one module names another. */
export interface Import {
  readonly line: number;
  readonly specifier: string;
  /** `type`: gone when compiled. `lazy`: `import()`. */
  readonly kind: "value" | "type" | "lazy";
}

/** A TypeScript file, taken apart as far as rules about the whole source need it. */
export interface SourceFile {
  /** From the root of the project, with slashes: `src/core/ports.ts`. */
  readonly path: string;
  readonly imports: readonly Import[];
  /** Texts of string literals and templates. */
  readonly strings: readonly { readonly line: number; readonly text: string }[];
  /** Lines of code without comments and without what stands in strings. */
  readonly bareLines: readonly string[];
  /** Lines as they were written. */
  readonly lines: readonly string[];
}

interface Token {
  readonly kind: "comment" | "string" | "regex";
  readonly start: number;
  readonly end: number;
}

const staticImport = /\b(?:import|export)\s+(type\s)?\s*(?:[\w$*{}\s,]+?\sfrom\s+)?"([^"]+)"/g;
const lazyImport = /\bimport\(\s*"([^"]+)"/g;

export function parseSource(path: string, source: string): SourceFile {
  const tokens = tokensOf(source);
  const bare = blank(source, tokens);
  const code = blank(
    source,
    tokens.filter(({ kind }) => kind === "comment"),
  );
  const lineAt = (index: number) => source.slice(0, index).split("\n").length;
  // A statement that stands in a string is text: its keyword is blank in the bare code.
  const isCode = ({ index }: RegExpExecArray) => bare[index] !== " ";
  const imports: Import[] = [];
  for (const match of code.matchAll(staticImport)) {
    const [, type, specifier = ""] = match;
    if (isCode(match))
      imports.push({ line: lineAt(match.index), specifier, kind: type === undefined ? "value" : "type" });
  }
  for (const match of code.matchAll(lazyImport)) {
    if (isCode(match)) imports.push({ line: lineAt(match.index), specifier: match[1] ?? "", kind: "lazy" });
  }
  const strings = tokens
    .filter(({ kind }) => kind === "string")
    .map(({ start, end }) => ({ line: lineAt(start), text: source.slice(start + 1, end - 1) }));
  return { path, imports, strings, bareLines: bare.split("\n"), lines: source.split("\n") };
}

/** Comments, strings and regular expressions. A template is a string for each stretch between its holes. */
function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  const templates: number[] = [];
  let depth = 0;
  let index = 0;
  const take = (kind: Token["kind"], end: number): void => {
    tokens.push({ kind, start: index, end });
    index = end;
  };
  while (index < source.length) {
    const char = source[index] ?? "";
    const kind = kindAt(source, index, tokens.at(-1));
    if (char === "{") depth += 1;
    if (char === "}") depth -= 1;
    const resumes = char === "}" && templates.at(-1) === depth;
    if (resumes) templates.pop();
    if (resumes || char === "`") {
      const end = endOfTemplate(source, index + 1);
      if (source[end - 1] === "{") templates.push(depth++);
      take("string", end);
    } else if (kind !== undefined) take(kind, endOf(kind, source, index));
    else index += 1;
  }
  return tokens;
}

function kindAt(source: string, index: number, last: Token | undefined): Token["kind"] | undefined {
  const char = source[index];
  if (char === '"' || char === "'") return "string";
  if (char !== "/") return undefined;
  if (source[index + 1] === "/" || source[index + 1] === "*") return "comment";
  // A slash divides when a value stands before it, else it begins a regular expression.
  const from = last?.kind === "comment" ? 0 : (last?.end ?? 0);
  const before = source.slice(from, index).trimEnd();
  if (before === "" && last?.kind === "string") return undefined;
  return before === "" || /[^\w$)\]}]$|\b(?:return|case|typeof|of|in)$/.test(before) ? "regex" : undefined;
}

const closings = {
  string: (source: string, start: number) => new RegExp(`(?:\\\\[\\s\\S]|[^\\\\])*?${source[start]}`, "y"),
  comment: (source: string, start: number) => (source[start + 1] === "/" ? /[^\n]*/y : /[\s\S]*?\*\//y),
  regex: () => /(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\[])+\/\w*/y,
};

function endOf(kind: Token["kind"], source: string, start: number): number {
  const closing = closings[kind](source, start);
  closing.lastIndex = start + 1;
  return closing.test(source) ? closing.lastIndex : source.length;
}

/** Just behind the closing backtick, or the brace that opens a hole. */
function endOfTemplate(source: string, start: number): number {
  const closing = /(?:\\[\s\S]|[^\\])*?(?:`|\$\{)/y;
  closing.lastIndex = start;
  return closing.test(source) ? closing.lastIndex : source.length;
}

function blank(source: string, tokens: readonly Token[]): string {
  let text = "";
  let index = 0;
  for (const { start, end } of tokens) {
    text += source.slice(index, start) + source.slice(start, end).replace(/[^\n]/g, " ");
    index = end;
  }
  return text + source.slice(index);
}
