import { csvRecords } from "./csv.js";
import { UnreadableFile } from "./unreadable-file.js";

/** A blank cell of CSV, a `null` or an absent key of JSON is missing: it is counted, but not among the values. */
export interface Column {
  readonly name: string;
  readonly values: readonly unknown[];
}

export interface Table {
  readonly rows: number;
  readonly columns: readonly Column[];
}

export type CsvTable = Table & { readonly separator: "," | ";" | "\t" };

export interface JsonTable extends Table {
  /** What the document is as a whole; `records` is an array of objects only. */
  readonly shape: "records" | "array" | "object" | "scalar";
  /** 0 for a scalar, 1 for an array or object of scalars. */
  readonly depth: number;
  readonly objects: number;
  readonly arrays: number;
  readonly scalars: number;
}

export type ColumnType = "integer" | "number" | "boolean" | "date" | "text" | "nested" | "mixed" | "empty";

export type Range =
  | { readonly kind: "number"; readonly min: number; readonly max: number; readonly mean: number }
  | { readonly kind: "date"; readonly earliest: string; readonly latest: string }
  | { readonly kind: "boolean"; readonly true: number; readonly false: number }
  /** Lengths in code points; `distinct` is left out when there are more than 1,000. */
  | { readonly kind: "text"; readonly minLength: number; readonly maxLength: number; readonly distinct?: number }
  | { readonly kind: "nested"; readonly minItems: number; readonly maxItems: number };

export interface ColumnFigures {
  readonly name: string;
  readonly type: ColumnType;
  readonly values: number;
  readonly missing: number;
  /** Left out when the column has no values. */
  readonly range?: Range;
}

const maxDistinct = 1000;
const separators = [",", ";", "\t"] as const;

/**
 * Reads RFC 4180 CSV with any line ends; the separator is the one that splits the first record into most fields.
 * The first record is the header, blank lines are skipped. Throws `UnreadableFile`.
 */
export function tableFromCsv(content: string): CsvTable {
  const widths = separators.map((separator) => headerWidth(content, separator));
  const separator = separators[widths.indexOf(Math.max(...widths))] ?? ",";
  const [header = [], ...rows] = csvRecords(content, separator);
  const columns = header.map((name, index) => ({
    name: name.trim() || `column ${index + 1}`,
    values: rows
      .map((row) => row[index]?.trim() ?? "")
      .filter((cell) => cell !== "")
      .map(valueFromCell),
  }));
  return { rows: rows.length, columns, separator };
}

/** Numbers as in JSON, so "007" and "+49…" stay text, as do integers too large to be exact. */
function valueFromCell(cell: string): string | number | boolean {
  if (/^(?:true|false)$/iu.test(cell)) return cell.toLowerCase() === "true";
  const value = /^-?(?:0|[1-9]\d*)?(?:\.\d+)?(?:e[+-]?\d+)?$/iu.test(cell) ? Number(cell) : Number.NaN;
  const exact = Number.isFinite(value) && (Number.isSafeInteger(value) || !/^-?\d+$/u.test(cell));
  return exact ? value : cell;
}

function headerWidth(content: string, separator: string): number {
  try {
    return csvRecords(content, separator).next().value?.length ?? 0;
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return 0;
  }
}

/** Reads JSON: a column for each key of the object or objects, else one column `value`. Throws `UnreadableFile`. */
export function tableFromJson(content: string): JsonTable {
  const text = content.replace(/^\uFEFF/u, "");
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new UnreadableFile(jsonComplaint(text), { cause });
  }
  const structure = structureOf(document);
  if (isObject(document)) return { shape: "object", ...recordTable([document]), ...structure };
  const items: readonly unknown[] = Array.isArray(document) ? document : [document];
  if (items.length > 0 && items.every(isObject)) return { shape: "records", ...recordTable(items), ...structure };
  const values = items.filter((item) => item !== null);
  const columns = items.length > 0 ? [{ name: "value", values }] : [];
  return { shape: Array.isArray(document) ? "array" : "scalar", rows: items.length, columns, ...structure };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function recordTable(records: readonly Readonly<Record<string, unknown>>[]): Table {
  const columns = new Map<string, unknown[]>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) {
      const values = columns.get(name) ?? [];
      columns.set(name, values);
      if (value !== null) values.push(value);
    }
  }
  return { rows: records.length, columns: [...columns].map(([name, values]) => ({ name, values })) };
}

/** Walks level by level, not by recursion: `JSON.parse` takes documents deeper than the call stack. */
function structureOf(document: unknown): Pick<JsonTable, "depth" | "objects" | "arrays" | "scalars"> {
  const count = { depth: 0, objects: 0, arrays: 0, scalars: 0 };
  for (let level: readonly unknown[] = [document]; level.length > 0; ) {
    const containers = level.filter((value) => typeof value === "object" && value !== null);
    const arrays = containers.filter((value) => Array.isArray(value)).length;
    count.depth += containers.length > 0 ? 1 : 0;
    count.arrays += arrays;
    count.objects += containers.length - arrays;
    count.scalars += level.length - containers.length;
    level = containers.flatMap((value) => Object.values(value));
  }
  return count;
}

type JsonState = "value" | "item" | "member" | "key" | "colon" | "more";

const jsonString = String.raw`"[^"\\\0-\x1f]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[^"\\\0-\x1f]*)*"`;
const jsonNumber = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const jsonToken = new RegExp(`[\\t\\n\\r ]*(${jsonString}|${jsonNumber}|true|false|null|[[\\]{},:]|)`, "y");

/** Looks for the first token that no JSON text could have there: `JSON.parse` names the position only sometimes. */
function jsonComplaint(text: string): string {
  const closers: string[] = [];
  let state: JsonState | undefined = "value";
  let offset = 0;
  jsonToken.lastIndex = 0;
  while (state !== undefined) {
    const token: string = jsonToken.exec(text)?.[1] ?? "";
    offset = jsonToken.lastIndex - token.length;
    state = token === "" ? undefined : nextState(state, token.charAt(0), closers);
  }
  const before = text.slice(0, offset);
  const place = `line ${before.split("\n").length}, column ${offset - before.lastIndexOf("\n")}`;
  const token = String.fromCodePoint(text.codePointAt(offset) ?? 0).toWellFormed();
  return `invalid JSON at ${place}: unexpected ${offset < text.length ? JSON.stringify(token) : "end of the text"}`;
}

/** Where JSON goes on after a token that starts with `mark`; undefined where it cannot. */
function nextState(state: JsonState, mark: string, closers: string[]): JsonState | undefined {
  const closer = closers.at(-1);
  if (mark === closer && state !== "value" && state !== "key" && state !== "colon") {
    closers.pop();
    return "more";
  }
  if (state === "more") return mark !== "," || closer === undefined ? undefined : closer === "}" ? "key" : "value";
  if (state === "colon") return mark === ":" ? "value" : undefined;
  if (state === "key" || state === "member") return mark === '"' ? "colon" : undefined;
  if (mark === "{" || mark === "[") closers.push(mark === "{" ? "}" : "]");
  if (/[\]},:]/u.test(mark)) return undefined;
  return mark === "{" ? "member" : mark === "[" ? "item" : "more";
}

/** Figures of a column of a table with that many rows. Dates are ISO 8601, read as UTC when they name no zone. */
export function columnFigures({ name, values }: Column, rows: number): ColumnFigures {
  const types = new Set<ColumnType>(values.map(valueType));
  if (types.has("number")) types.delete("integer");
  const [only = "empty"] = types;
  const type = types.size > 1 ? "mixed" : only;
  const figures = { name, type, values: values.length, missing: rows - values.length };
  return type === "empty" ? figures : { ...figures, range: rangeOf(type, values) };
}

function valueType(value: unknown): ColumnType {
  if (typeof value === "object") return "nested";
  if (typeof value === "boolean") return "boolean";
  if (Number.isFinite(value)) return Number.isInteger(value) ? "integer" : "number";
  return Number.isNaN(instantOf(value)) ? "text" : "date";
}

function instantOf(value: unknown): number {
  const text = String(value);
  const [, day, zone] =
    /^(\d{4}-\d\d-\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/u.exec(text) ?? [];
  const midnight = Date.parse(day ?? "");
  // `Date.parse` takes 30 February for a day in March.
  const real = day !== undefined && !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
  if (!real) return Number.NaN;
  return text === day ? midnight : Date.parse(`${text.replace(" ", "T")}${zone === undefined ? "Z" : ""}`);
}

function rangeOf(type: ColumnType, values: readonly unknown[]): Range {
  switch (type) {
    case "integer":
    case "number": {
      const numbers = values.filter((value) => typeof value === "number");
      // Summing shares cannot overflow; ten digits hide their rounding.
      const mean = numbers.reduce((sum, number) => sum + number / numbers.length, 0);
      return { kind: "number", ...extremes(numbers), mean: Number(mean.toPrecision(10)) };
    }
    case "date": {
      const dates = values.map((value) => ({ text: String(value), instant: instantOf(value) }));
      dates.sort((a, b) => a.instant - b.instant);
      return { kind: "date", earliest: dates[0]?.text ?? "", latest: dates.at(-1)?.text ?? "" };
    }
    case "boolean": {
      const yes = values.filter((value) => value === true).length;
      return { kind: "boolean", true: yes, false: values.length - yes };
    }
    case "nested": {
      const { min, max } = extremes(values.map((value) => Object.keys(Object(value)).length));
      return { kind: "nested", minItems: min, maxItems: max };
    }
    default: {
      const texts = values.filter((value) => typeof value !== "object").map(String);
      const { min, max } = extremes(texts.map((text) => Array.from(text).length));
      const distinct = new Set(texts).size;
      return { kind: "text", minLength: min, maxLength: max, ...(distinct <= maxDistinct ? { distinct } : {}) };
    }
  }
}

function extremes(numbers: readonly number[]): { min: number; max: number } {
  const sortedNumbers = numbers.toSorted((a, b) => a - b);
  return { min: sortedNumbers[0] ?? 0, max: sortedNumbers.at(-1) ?? 0 };
}
