import type { JsonValue } from "@bufbuild/protobuf";
import type { FieldViolation } from "./errors.js";

// A violation is added without its path where it is found. Each caller on the way out puts its own name before it, so
// that valid messages pay for no paths.

/** A growing list of violations. `leftOut` is the kind of a value that is left out for one. */
export type Violations = { field: string; readonly description: string; readonly leftOut?: string }[];

/** Further violations are not reported. */
const violationsMax = 20;

const excerptLength = 64;

/** Adds a violation of the value at hand. */
export function addViolation(violations: Violations, description: string): void {
  if (violations.length < violationsMax) violations.push({ field: "", description });
}

/** Fewer than `violationsMax`, so that values that are left out never hide a violation. */
const omittedMax = 10;

/** Replaces the violations added since `from` by a note that the value is left out. */
export function omitValue(violations: Violations, from: number, value: JsonValue): void {
  const [first] = violations.splice(from);
  if (first !== undefined && from < omittedMax) violations.push({ ...first, leftOut: describeKind(value) });
}

/** Puts the name of a member before the paths of the violations added since `from`. Mostly there are none. */
export function prefixMember(violations: Violations, from: number, name: string): void {
  if (violations.length !== from) prefix(violations, from, name);
}

/** The same for an entry of a list. */
export function prefixIndex(violations: Violations, from: number, index: number): void {
  if (violations.length !== from) prefix(violations, from, `[${index}]`);
}

function prefix(violations: Violations, from: number, name: string): void {
  const excerpt = name.length > excerptLength ? `${name.slice(0, excerptLength)}…` : name;
  for (const violation of violations.slice(from)) {
    const { field } = violation;
    violation.field = field === "" || field.startsWith("[") ? excerpt + field : `${excerpt}.${field}`;
  }
}

/** Joins two lists. Leaves out violations of the second list for fields, and their members, that the first one has. */
export function mergeViolations(
  first: readonly FieldViolation[],
  second: readonly FieldViolation[],
): readonly FieldViolation[] {
  if (first.length === 0) return second;
  const additional = second.filter(({ field }) => !first.some((each) => isWithin(field, each.field)));
  return [...first, ...additional].slice(0, violationsMax);
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
export function mustBe(kind: string, json: JsonValue | undefined): string {
  return `must be ${kind}, not ${describeKind(json)}`;
}

function describeKind(json: JsonValue | undefined): string {
  if (json === null) return "null";
  if (Array.isArray(json)) return "an array";
  if (typeof json === "object") return "an object";
  return json === undefined ? "missing" : `a ${typeof json}`;
}
