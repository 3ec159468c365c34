import { isSecretName, redaction, withoutSecrets } from "./redact.js";

// Records are bounded: what a program logs may be large, contain itself, or hold secrets.

const maxDepth = 8;
const maxEntries = 100;
const maxChars = 16 * 1024;

/** Copies the fields of a record as values of JSON, without secrets. */
export function copyFields(fields: object): Record<string, unknown> {
  return copyMembers(fields instanceof Error ? { err: fields } : fields, []);
}

/** Copies a value; `above` holds the objects that contain it. */
function copyValue(value: unknown, ancestors: readonly object[]): unknown {
  if (typeof value === "string") return copyText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return typeof value === "function" ? undefined : value;
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
  return typeof value === "string" || (typeof value === "object" && value !== null);
}

function copyList(list: readonly unknown[], ancestors: readonly object[]): readonly unknown[] {
  const copy = list.slice(0, maxEntries).map((entry) => copyValue(entry, ancestors));
  return list.length <= maxEntries ? copy : [...copy, `… ${list.length - maxEntries} more`];
}

function copyText(text: string): string {
  return withoutSecrets(text.length <= maxChars ? text : `${text.slice(0, maxChars)}… (${text.length} characters)`);
}
