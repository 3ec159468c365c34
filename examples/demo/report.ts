import { extname } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { type Column, columnFigures, type Range, type Table, tableFromCsv, tableFromJson } from "./table-figures.js";
import {
  frequentTerms,
  type Prose,
  proseOf,
  readingEase,
  readingSeconds,
  sizeFigures,
  type WordFigures,
  wordFigures,
} from "./text-figures.js";
import { UnreadableFile } from "./unreadable-file.js";

export interface ReportInput {
  /** File name, shown in the first section. */
  readonly name?: string | undefined;
  /** One of `supportedMediaTypes`; parameters and case do not matter. */
  readonly mediaType: string;
  readonly content: string;
}

export interface Section {
  readonly title: string;
  /** The body, without the title. */
  readonly markdown: string;
  readonly figures: Record<string, JsonValue>;
}

export const supportedMediaTypes = ["text/plain", "text/markdown", "text/csv", "application/json"] as const;

const typesByExtension = new Map<string, (typeof supportedMediaTypes)[number]>([
  [".txt", "text/plain"],
  [".md", "text/markdown"],
  [".markdown", "text/markdown"],
  [".csv", "text/csv"],
  [".json", "application/json"],
]);

const maxColumns = 50;
const maxLabel = 60;

/**
 * The declared type, bare and in lower case, supported or not; where none is declared, the type of the file extension.
 * Undefined for a file name with an unknown extension or none, `text/plain` where there is no name either.
 */
export function mediaTypeOf(filename: string | undefined, declaredType: string | undefined): string | undefined {
  const baseType = declaredType?.split(";")[0]?.trim().toLowerCase();
  if (baseType) return baseType;
  return filename ? typesByExtension.get(extname(filename).toLowerCase()) : "text/plain";
}

/**
 * The report, one section at a time; each is worked out when it is asked for.
 * Throws `UnreadableFile` at the call, never between sections: for an unsupported type, broken JSON or ragged CSV.
 */
export function sections({ name, mediaType, content }: ReportInput): Iterable<Section> {
  const type = mediaTypeOf(undefined, mediaType) ?? "";
  const file = { ...(name ? { name: cutText(name) } : {}), mediaType: type, bytes: Buffer.byteLength(content) };
  switch (type) {
    case "text/plain":
    case "text/markdown":
      return textSections(file, content);
    case "text/csv": {
      const { separator, ...table } = tableFromCsv(content);
      return tableSections(file, table, { separator: { ",": "comma", ";": "semicolon", "\t": "tab" }[separator] });
    }
    case "application/json": {
      const { rows, columns, ...structure } = tableFromJson(content);
      return tableSections(file, { rows, columns }, structure);
    }
    default: {
      const typesText = supportedMediaTypes.join(", ");
      throw new UnreadableFile(`unsupported media type ${cutText(type)}, wanted one of ${typesText}`);
    }
  }
}

type FileFigures = { readonly name?: string; readonly mediaType: string; readonly bytes: number };

function section(title: string, markdown: string, figures: Section["figures"]): Section {
  return { title, markdown, figures };
}

function* textSections(file: FileFigures, content: string): Generator<Section> {
  const { characters, lines } = sizeFigures(content);
  const size = [...fileLines(file), countOf(characters, "character"), countOf(lines, "line")];
  yield section("Size", bullets(size), { ...file, characters, lines });

  const prose = proseOf(content, file.mediaType === "text/markdown" ? "markdown" : "plain");
  const words = wordFigures(prose);
  yield wordSection(prose, words);

  const seconds = readingSeconds(words.words);
  const minutes = seconds < 60 ? "" : `${countOf(Math.floor(seconds / 60), "minute")} `;
  const time = `About ${minutes}${countOf(seconds % 60, "second")} at 200 words a minute.`;
  yield section("Reading time", time, { seconds });

  const terms = frequentTerms(words).map(({ term, count }) => ({ term, count }));
  const cells = terms.map(({ term, count }) => [inert(term), decimal(count)]);
  yield section("Most frequent terms", table(["Term", "Count"], cells), { terms });
  yield readabilitySection(words);
}

function wordSection({ paragraphs, markdown }: Prose, { words, sentences, counts }: WordFigures): Section {
  const wordsPerSentence = Math.round((words / Math.max(1, sentences)) * 10) / 10;
  const lines = [
    `${countOf(words, "word")}, ${decimal(counts.size)} distinct`,
    `${countOf(sentences, "sentence")}, ${countOf(wordsPerSentence, "word")} each on average`,
    countOf(paragraphs, "paragraph"),
  ];
  if (markdown) {
    const { headings, links, codeBlocks } = markdown;
    lines.push(countOf(headings, "heading"), countOf(links, "link"));
    lines.push(`${countOf(codeBlocks, "code block")}, not counted as words`);
  }
  const figures = { words, distinctWords: counts.size, sentences, wordsPerSentence, paragraphs, ...markdown };
  return section("Words & sentences", bullets(lines), figures);
}

function readabilitySection(words: WordFigures): Section {
  const ease = readingEase(words);
  if (!ease) return section("Readability", "No score: it takes words in Latin script.", { score: null });
  const markdown =
    `Flesch reading ease **${ease.score}**: ${ease.level}. The scale runs from 0 (very difficult) to 100 (very easy), ` +
    "60 to 70 is plain English. Syllables are estimated, and the formula is made for English.";
  return section("Readability", markdown, { ...ease });
}

function* tableSections(
  file: FileFigures,
  { rows, columns }: Table,
  structure: Readonly<Record<string, string | number>>,
): Generator<Section> {
  const extra = Object.entries(structure).map(([key, value]) => `${key}: ${value}`);
  const shape = [...fileLines(file), `${countOf(rows, "row")}, ${countOf(columns.length, "column")}`, ...extra];
  yield section("Shape", bullets(shape), { ...file, rows, columns: columns.length, ...structure });

  const listedColumns = columns.slice(0, maxColumns).map((column) => columnFigures(column, rows));
  const omittedCount = columns.length - listedColumns.length;
  const types = listedColumns.map(({ name, type }) => ({ name: cutText(name), type }));
  const typeCells = types.map(({ name, type }) => [inert(name), type]);
  yield section("Columns", table(["Column", "Type"], typeCells, omittedCount), {
    columns: types,
    omitted: omittedCount,
  });
  yield missingSection(columns, rows);

  const ranges = listedColumns.flatMap(({ name, range }) => (range ? [{ name: cutText(name), ...range }] : []));
  const rangeCells = ranges.map((range) => [inert(range.name), rangeText(range)]);
  yield section("Ranges", table(["Column", "Range"], rangeCells, omittedCount), {
    columns: ranges,
    omitted: omittedCount,
  });
}

function missingSection(columns: readonly Column[], rows: number): Section {
  const gaps = columns.filter(({ values }) => values.length < rows);
  const missing = gaps.reduce((sum, { values }) => sum + rows - values.length, 0);
  const listedColumns = gaps
    .slice(0, maxColumns)
    .map(({ name, values }) => ({ name: cutText(name), missing: rows - values.length }));
  const omittedCount = gaps.length - listedColumns.length;
  const total = `${decimal(missing)} of ${countOf(rows * columns.length, "value")} missing.`;
  const cells = listedColumns.map((gap) => [inert(gap.name), `${decimal(gap.missing)} of ${decimal(rows)}`]);
  const markdown = missing > 0 ? `${total}\n\n${table(["Column", "Missing"], cells, omittedCount)}` : total;
  return section("Missing values", markdown, { missing, columns: listedColumns, omitted: omittedCount });
}

function rangeText(range: Range): string {
  switch (range.kind) {
    case "number":
      return `${decimal(range.min)} to ${decimal(range.max)}, mean ${decimal(range.mean)}`;
    case "date":
      return `${range.earliest} to ${range.latest}`;
    case "boolean":
      return `${decimal(range.true)} true, ${decimal(range.false)} false`;
    case "nested":
      return `${decimal(range.minItems)} to ${decimal(range.maxItems)} items`;
    case "text": {
      const distinct = range.distinct === undefined ? "more than 1,000" : decimal(range.distinct);
      return `${decimal(range.minLength)} to ${decimal(range.maxLength)} characters, ${distinct} distinct`;
    }
    default:
      return range satisfies never;
  }
}

function table(head: readonly string[], rows: readonly (readonly string[])[], omittedCount = 0): string {
  if (rows.length === 0) return "Nothing to list.";
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return lines.concat(omittedCount > 0 ? ["", `… and ${countOf(omittedCount, "more column")}.`] : []).join("\n");
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

function fileLines({ name, mediaType, bytes }: FileFigures): string[] {
  return [name === undefined ? mediaType : `${inert(name)} (${mediaType})`, countOf(bytes, "byte")];
}

/** Text of the sender on one line, well formed and short. */
function cutText(text: string): string {
  const line = text
    .slice(0, 4 * maxLabel)
    .replace(/\s+/gu, " ")
    .trim();
  const characters = Array.from(line.toWellFormed());
  return characters.length > maxLabel ? `${characters.slice(0, maxLabel - 1).join("")}…` : characters.join("");
}

/** Keeps text of the sender from acting as Markdown or HTML. */
function inert(text: string): string {
  return text.replace(/[\\`*_[\]<>|&~#]/gu, "\\$&");
}

const plainNumber = new Intl.NumberFormat("en-US", { maximumFractionDigits: 4 });

function decimal(value: number): string {
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e15) ? String(value) : plainNumber.format(value);
}

function countOf(count: number, unit: string): string {
  return `${decimal(count)} ${unit}${count === 1 ? "" : "s"}`;
}
