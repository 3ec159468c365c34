import { isObject } from "../../protocol/kinds.js";
import type { Logger } from "../../protocol/logger.js";
import { hasSecretWord } from "../../protocol/secret-names.js";

// A record of the log as text. Its fields are copied first, bounded and without secrets: what a program logs may be large,
// contain itself, or hold credentials. A logger that a program brings itself gets the fields as they are.

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
    else words.push(formatField([name, value], paint));
  }
  const clock = paint(formatTime(time), dim);
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
  return isObject(value) && "stack" in value && typeof value.stack === "string";
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
  const facts = otherMembers.map((fact) => ` ${formatField(fact, paint)}`);
  const inner = [
    ...(cause === undefined ? [] : [{ value: cause, before: "[cause]: " }]),
    ...errors.map((value, index) => ({ value, before: `[errors][${index}]: ` })),
  ].flatMap(({ value, before }) =>
    isError(value) ? errorLines(value, { paint, before, outer: below }) : [`${indent}${before}${formatValue(value)}`],
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

function formatField([name, value]: readonly [string, unknown], paint: Paint): string {
  return `${paint(`${toPrintable(name)}=`, dim)}${formatValue(value)}`;
}

/** A value as one word, quoted if it has spaces or what a terminal would obey. */
function formatValue(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=\p{C}]+$/u.test(value) ? value : quote(value);
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string"))
    return value.map(formatValue).join(",");
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

function formatTime(ms: number): string {
  const at = new Date(ms);
  const part = (value: number, digits = 2): string => String(value).padStart(digits, "0");
  return `${part(at.getHours())}:${part(at.getMinutes())}:${part(at.getSeconds())}.${part(at.getMilliseconds(), 3)}`;
}

const maxDepth = 8;
const maxEntries = 100;
const maxChars = 16 * 1024;

/** Copies the fields of a record as values of JSON, without secrets. */
function copyFields(fields: object): Record<string, unknown> {
  return copyMembers(fields instanceof Error ? { err: fields } : fields, []);
}

/** Copies a value; `above` holds the objects that contain it. */
function copyValue(value: unknown, ancestors: readonly object[]): unknown {
  if (typeof value === "string") return copyText(value);
  if (typeof value === "bigint") return String(value);
  if (!isObject(value)) return typeof value === "function" ? undefined : value;
  if (ancestors.includes(value)) return "[circular]";
  if (ancestors.length === maxDepth) return "[too deep]";
  const path = [...ancestors, value];
  if (value instanceof Error) return copyError(value, path);
  if ("toJSON" in value && typeof value.toJSON === "function") return copyValue(value.toJSON(), path);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) return copyMembers(Object.fromEntries(value), path);
  return Array.isArray(value) || value instanceof Set ? copyList([...value], path) : copyMembers(value, path);
}

/** An error as pino shows it, without members that are objects: they may hold a whole request and its headers. */
function copyError(error: Error, ancestors: readonly object[]): object {
  const { message, stack, cause } = error;
  const errors = error instanceof AggregateError ? copyList(error.errors, ancestors) : undefined;
  const members = Object.entries(error).filter(([name, value]) => !errorMembers.has(name) && isScalar(value));
  return {
    type: error.constructor.name,
    message: copyText(message),
    stack: stack === undefined ? undefined : copyText(stack),
    ...copyMembers(Object.fromEntries(members), ancestors),
    cause: copyValue(cause, ancestors),
    errors,
  };
}

const errorMembers: ReadonlySet<string> = new Set(["name", "message", "stack", "cause", "errors"]);

function isScalar(value: unknown): boolean {
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
}

function copyMembers(value: object, ancestors: readonly object[]): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  const members = Object.entries(value);
  for (const [name, member] of members.slice(0, maxEntries)) {
    copy[name] = isSecretName(name) && mayHoldSecret(member) ? redaction : copyValue(member, ancestors);
  }
  if (members.length > maxEntries) copy["…"] = `${members.length - maxEntries} more`;
  return copy;
}

/** Counts, such as `inputToken`, hold none. */
function mayHoldSecret(value: unknown): boolean {
  return typeof value === "string" || isObject(value);
}

function copyList(list: readonly unknown[], ancestors: readonly object[]): readonly unknown[] {
  const copy = list.slice(0, maxEntries).map((entry) => copyValue(entry, ancestors));
  return list.length <= maxEntries ? copy : [...copy, `… ${list.length - maxEntries} more`];
}

function copyText(text: string): string {
  return withoutSecrets(text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length} characters)`);
}

/** Replaces a secret. */
const redaction = "[redacted]";

const secretName =
  /^(?:proxy-)?authorization$|^(?:set-)?cookies?$|(?:^|[a-z_-])token$|api[-_]?key$|private[-_]?key$|session[-_]?(?:cookie|key)$/i;

const secretTexts: readonly (readonly [form: RegExp, shown: string])[] = [
  // Credentials in a URL: the password, or a token in place of the name.
  [/:\/\/[^\s/?#@"']+@/g, `://${redaction}@`],
  [/\b(Bearer|Basic|DPoP)\s+[\w.~+/=-]{8,}/gi, `$1 ${redaction}`],
  [
    /([?&](?:[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|passcode|credential|signature|assertion|jwt|saml\w*|api[-_]?key)|key|sig|otp|pin|pwd|sid|code_verifier)=)[^&\s#"']+/gi,
    `$1${redaction}`,
  ],
];

/** Whether a member of this name holds a secret, such as `authorization`, `password` or `accessToken`. */
function isSecretName(name: string): boolean {
  return secretName.test(name) || hasSecretWord(name);
}

/** Replaces what is recognised as a credential in a text: in URLs, and behind the name of an authentication scheme. */
function withoutSecrets(text: string): string {
  let result = text;
  for (const [form, replacement] of secretTexts) result = result.replace(form, replacement);
  return result;
}
