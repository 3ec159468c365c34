import type { JsonValue } from "@bufbuild/protobuf";
import type { FieldViolation } from "./errors.js";

// A violation is noted without its path where it is found, and each caller on the way out puts its own name before it:
// what is right pays for no paths.

/** A growing list of violations. */
export type Violations = { field: string; readonly description: string }[];

/** More than these do not help. */
const violationsMax = 20;

const shownKeyLength = 64;

/** Notes what is wrong with the value at hand. */
export function addViolation(violations: Violations, description: string): void {
  if (violations.length < violationsMax) violations.push({ field: "", description });
}

/** Says that the violations noted since `from` lie inside of the member `name`. Mostly there are none. */
export function underMember(violations: Violations, from: number, name: string): void {
  if (violations.length !== from) prefix(violations, from, name);
}

/** Says that the violations noted since `from` lie inside of the entry `index` of a list. */
export function underIndex(violations: Violations, from: number, index: number): void {
  if (violations.length !== from) prefix(violations, from, `[${index}]`);
}

function prefix(violations: Violations, from: number, name: string): void {
  const shown = name.length > shownKeyLength ? `${name.slice(0, shownKeyLength)}…` : name;
  for (const violation of violations.slice(from)) {
    const { field } = violation;
    violation.field = field === "" || field.startsWith("[") ? shown + field : `${shown}.${field}`;
  }
}

/** Joins two lists. Where the first finds fault with a field, what the second says about it, or about its members, is left out. */
export function mergeViolations(
  first: readonly FieldViolation[],
  second: readonly FieldViolation[],
): readonly FieldViolation[] {
  if (first.length === 0) return second;
  const fresh = second.filter(({ field }) => !first.some((known) => isWithin(field, known.field)));
  return [...first, ...fresh].slice(0, violationsMax);
}

function isWithin(field: string, outer: string): boolean {
  if (outer === "" || field === outer) return true;
  return field.startsWith(outer) && (field[outer.length] === "." || field[outer.length] === "[");
}

/** One sentence for a violation; one of the whole message has no field. */
export function violationText({ field, description }: FieldViolation): string {
  return field === "" ? description : `${field} ${description}`;
}

/** "must be a string, not a number". */
export function mustBe(wanted: string, seen: JsonValue | undefined): string {
  return `must be ${wanted}, not ${kindOf(seen)}`;
}

function kindOf(json: JsonValue | undefined): string {
  if (json === null) return "null";
  if (Array.isArray(json)) return "an array";
  if (typeof json === "object") return "an object";
  return json === undefined ? "missing" : `a ${typeof json}`;
}
