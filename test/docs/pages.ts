import { globSync, readFileSync } from "node:fs";

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  /** `ts`, `sh`, … */
  readonly language: string;
  /** What follows the language: `background`. */
  readonly info: string;
  readonly code: string;
  /** The line of the page with the first line of the code, from 1. */
  readonly line: number;
  /** The last line of text before the block, `""` where there is none. */
  readonly lead: string;
}

export const read = (file: string): string => readFileSync(file, "utf8");

/** The README and the pages of `docs/`. */
export const documents: readonly string[] = ["README.md", ...globSync("docs/**/*.md").toSorted()];

const opening = /^( *)```([\w-]+) *(.*)/;

export function blocksOf(page: string): readonly Block[] {
  const lines = read(page).split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, indent = "", language, info = ""] = opening.exec(lines[at] ?? "") ?? [];
    if (language === undefined) continue;
    const lead = lines.slice(0, at).findLast((text) => text.trim() !== "") ?? "";
    const end = lines.indexOf(`${indent}\`\`\``, at);
    if (end < 0) throw new Error(`${page}:${at + 1}: the block has no end`);
    const code = lines.slice(at + 1, end).map((text) => `${text.slice(indent.length)}\n`);
    blocks.push({ page, language, info, code: code.join(""), line: at + 2, lead });
    at = end;
  }
  return blocks;
}

const linkedFile = /\]\((?:\.\.\/)*(examples\/[^)#]+\.\w+)\)/;

/** The example that a block quotes: its lead links to the file. */
export function quotedFile({ language, lead }: Block): string | undefined {
  return /^(?:sh|console|text)$/.test(language) ? undefined : linkedFile.exec(lead)?.[1];
}

/** A page without its fenced blocks. */
export function withoutBlocks(text: string): string {
  return text.replaceAll(/^( *)```[\s\S]*?^\1```$/gm, "");
}

/** The anchors that GitHub gives to the headings of a page, and those that it has as HTML. */
export function anchorsIn(page: string): ReadonlySet<string> {
  const text = withoutBlocks(page);
  const anchors = new Map<string, number>();
  for (const [, title = ""] of text.matchAll(/^#+ (.+)$/gm)) {
    const name = title
      .replaceAll(/\]\([^)]*\)/g, "]")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = anchors.get(name) ?? 0;
    anchors.set(name, count + 1);
    if (count > 0) anchors.set(`${name}-${count}`, 1);
  }
  return new Set([...anchors.keys(), ...[...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = ""]) => id)]);
}
