import { isSecretName, redacted, withoutSecrets } from "./redact.js";

// Records are bounded: what a program logs may be large, contain itself, or hold secrets.

const maxDepth = 8;
const maxEntries = 100;
const maxChars = 16 * 1024;

/** Copies the fields of a record as values of JSON, without secrets. */
export function plainFields(fields: object): Record<string, unknown> {
  return plainMembers(fields instanceof Error ? { err: fields } : fields, []);
}

/** Copies a value; `above` holds the objects that contain it. */
function plain(value: unknown, above: readonly object[]): unknown {
  if (typeof value === "string") return plainText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return typeof value === "function" ? undefined : value;
  if (above.includes(value)) return "[circular]";
  if (above.length === maxDepth) return "[too deep]";
  const within = [...above, value];
  if (value instanceof Error) return plainError(value, within);
  if ("toJSON" in value && typeof value.toJSON === "function") return plain(value.toJSON(), within);
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof Map) return plainMembers(Object.fromEntries(value), within);
  return Array.isArray(value) || value instanceof Set ? plainList([...value], within) : plainMembers(value, within);
}

/** An error as pino shows it, without members that are objects: they may hold a whole request and its headers. */
function plainError(error: Error, above: readonly object[]): object {
  const { message, stack, cause } = error;
  const errors = error instanceof AggregateError ? plainList(error.errors, above) : undefined;
  const own = Object.entries(error).filter(([name, value]) => !ownOfErrors.has(name) && isScalar(value));
  return {
    type: error.constructor.name,
    message: plainText(message),
    stack: stack === undefined ? undefined : plainText(stack),
    ...plainMembers(Object.fromEntries(own), above),
    cause: plain(cause, above),
    errors,
  };
}

const ownOfErrors: ReadonlySet<string> = new Set(["name", "message", "stack", "cause", "errors"]);

function isScalar(value: unknown): boolean {
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
}

function plainMembers(value: object, above: readonly object[]): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  const members = Object.entries(value);
  for (const [name, member] of members.slice(0, maxEntries)) {
    shown[name] = isSecretName(name) && mayHoldSecret(member) ? redacted : plain(member, above);
  }
  if (members.length > maxEntries) shown["…"] = `${members.length - maxEntries} more`;
  return shown;
}

/** Counts, such as `inputToken`, hold none. */
function mayHoldSecret(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null);
}

function plainList(list: readonly unknown[], above: readonly object[]): readonly unknown[] {
  const shown = list.slice(0, maxEntries).map((entry) => plain(entry, above));
  return list.length <= maxEntries ? shown : [...shown, `… ${list.length - maxEntries} more`];
}

function plainText(text: string): string {
  const shown = text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length} characters)`;
  return withoutSecrets(shown);
}
