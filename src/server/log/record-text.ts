import type { Logger } from "../../protocol/logger.js";
import { copyFields } from "./copy-fields.js";
import { withoutSecrets } from "./redact.js";

/** One record of the server's log. */
export interface LogEntry {
  readonly level: keyof Logger;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly fields: object;
  readonly message: string;
}

/** Level numbers of pino. */
const levelNumbers: Readonly<Record<keyof Logger, number>> = { debug: 20, info: 30, warn: 40, error: 50 };

/** A record as one line of JSON in the format of pino. */
export function jsonText({ level, time, fields, message }: LogEntry): string {
  const head = { level: levelNumbers[level], time };
  return `${JSON.stringify({ ...head, ...copyFields(fields), ...head, msg: withoutSecrets(message) })}\n`;
}

const levelColors: Readonly<Record<keyof Logger, number>> = { debug: 90, info: 32, warn: 33, error: 31 };
const dim = 2;

type Paint = (text: string, color: number) => string;

const plainPaint: Paint = (text) => text;
const colorPaint: Paint = (text, color) => `\u001b[${color}m${text}\u001b[0m`;

/** A record for a terminal: one line, and the stacks of its errors with their causes below. */
export function terminalText({ level, time, fields, message }: LogEntry, colors: boolean): string {
  const paint = colors ? colorPaint : plainPaint;
  const words: string[] = [];
  const below: string[] = [];
  for (const [name, value] of Object.entries(copyFields(fields))) {
    if (value === undefined) continue;
    if (isError(value)) below.push(...errorLines(value, { paint, before: name === "err" ? "" : `[${name}]: ` }));
    else words.push(factOf([name, value], paint));
  }
  const clock = paint(timeOf(time), dim);
  const name = paint(level.toUpperCase().padEnd(5), levelColors[level]);
  const line = [`${clock} ${name} ${toPrintable(withoutSecrets(message))}`, ...words].join(" ");
  return `${[line, ...below].join("\n")}\n`;
}

interface LoggedError {
  readonly stack: string;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
}

/** Errors are copied with their stacks; nothing else has one. */
function isError(value: unknown): value is LoggedError {
  return typeof value === "object" && value !== null && "stack" in value && typeof value.stack === "string";
}

const standardMembers: ReadonlySet<string> = new Set(["type", "message", "stack", "cause", "errors"]);
const indent = "  ";

/** Where an error is shown. */
interface ErrorPlace {
  readonly paint: Paint;
  readonly before: string;
  /** The stack of the error that it caused. */
  readonly outer?: readonly string[] | undefined;
}

function errorLines(error: LoggedError, { paint, before, outer = [] }: ErrorPlace): readonly string[] {
  const { stack, cause, errors = [] } = error;
  const [first = "", ...below] = stack.split("\n").map(toPrintable);
  const otherMembers = Object.entries(error).filter(
    ([name, value]) => !standardMembers.has(name) && value !== undefined,
  );
  const facts = otherMembers.map((fact) => ` ${factOf(fact, paint)}`);
  const inner = [
    ...(cause === undefined ? [] : [{ value: cause, before: "[cause]: " }]),
    ...errors.map((value, index) => ({ value, before: `[errors][${index}]: ` })),
  ].flatMap(({ value, before }) =>
    isError(value) ? errorLines(value, { paint, before, outer: below }) : [`${indent}${before}${wordOf(value)}`],
  );
  const frames = ownFrames(below, outer).map((line) => (isFrame.test(line) ? paint(line, dim) : line));
  return [`${before}${first}${facts.join("")}`, ...frames, ...inner].map((line) => indent + line);
}

const isFrame = /^\s+(?:at |\.\.\. )/;

/** Leaves out the frames at the end that both stacks have. */
function ownFrames(stack: readonly string[], outer: readonly string[]): readonly string[] {
  let sharedFrames = 0;
  while (sharedFrames < stack.length && stack.at(-1 - sharedFrames) === outer.at(-1 - sharedFrames)) sharedFrames++;
  return sharedFrames < 2 ? stack : [...stack.slice(0, -sharedFrames), `    ... ${sharedFrames} frames as above`];
}

function factOf([name, value]: readonly [string, unknown], paint: Paint): string {
  return `${paint(`${toPrintable(name)}=`, dim)}${wordOf(value)}`;
}

/** A value as one word, quoted if it has spaces or what a terminal would obey. */
function wordOf(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=\p{C}]+$/u.test(value) ? value : quote(value);
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string")) return value.map(wordOf).join(",");
  return quote(value);
}

function quote(value: unknown): string {
  return toPrintable(JSON.stringify(value) ?? String(value));
}

/** Writes control characters as escapes: texts of callers must not command a terminal or forge a line. */
function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) => (char === "\t" ? " " : escapeChar(char)));
}

function escapeChar(char: string): string {
  return char === "\n" ? "\\n" : `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}

function timeOf(ms: number): string {
  const at = new Date(ms);
  const part = (value: number, digits = 2): string => String(value).padStart(digits, "0");
  return `${part(at.getHours())}:${part(at.getMinutes())}:${part(at.getSeconds())}.${part(at.getMilliseconds(), 3)}`;
}
