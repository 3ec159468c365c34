import {
  type Message as AnyMessage,
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonObject,
  ScalarType,
} from "@bufbuild/protobuf";
import type { Timestamp, Value } from "@bufbuild/protobuf/wkt";
import { noop } from "../async/noop.js";
import { checkJson, checkKey, checkString, checkValue, type FreeJsonCheck } from "../codec/json/struct.js";
import {
  type DynamicMessage,
  dynamic,
  isOneof,
  isRequired,
  listWords,
  type OneofValue,
  perMessageType,
} from "../codec/outline/dynamic.js";
import type { FieldViolation } from "../errors.js";
import { isTimestampInRange } from "../timestamp.js";
import { defaultValidationLimits, type ValidationLimits } from "../validation-limits.js";
import { addViolation, prefixIndex, prefixMember } from "../violations.js";
import { findCountRule, findLengthRule, findRangeRule, findRootRule, isHeaderField } from "./field-rules.js";

// Checks messages beyond their types, for every binding: REQUIRED fields, oneofs, enums, lengths, ranges
// (spec 1.6, 2.3). Compiled once per message type, like the reader.

interface Run extends FreeJsonCheck {
  readonly limits: ValidationLimits;
  /** True when the JSON reader has checked strings and free JSON already. */
  readonly isRead: boolean;
}

type Check<T = unknown> = (value: T, run: Run, depth: number) => void;

/**
 * Returns the violations of a message. A request of the protocol is checked against the rules of its operation as well.
 */
export function validate(
  desc: DescMessage,
  message: AnyMessage,
  limits: ValidationLimits = defaultValidationLimits,
): readonly FieldViolation[] {
  const run: Run = { limits, isRead: false, violations: [], maxDepth: limits.jsonDepthMax, lenient: false };
  return violationsIn(desc, message, run);
}

/** The same for a message that `readJson` made without violations in its strings and free JSON. */
export function validateRead(
  desc: DescMessage,
  message: AnyMessage,
  limits: ValidationLimits,
): readonly FieldViolation[] {
  const run: Run = { limits, isRead: true, violations: [], maxDepth: limits.jsonDepthMax, lenient: false };
  return violationsIn(desc, message, run);
}

function violationsIn(desc: DescMessage, message: AnyMessage, run: Run): readonly FieldViolation[] {
  messageCheck(desc)(message, run, 1);
  findRootRule(desc)?.(dynamic(message), run.violations);
  return run.violations;
}

const messageCheck = perMessageType((desc: DescMessage): Check<AnyMessage> => {
  const checks = desc.members
    .map((member) => (isOneof(member) ? oneofCheck(member) : memberCheck(member)))
    .filter((check) => check !== undefined);
  return (message, run, depth) => {
    const fields = dynamic(message);
    for (const check of checks) check(fields, run, depth + 1);
  };
});

function oneofCheck({ localName, fields }: DescOneof): Check<DynamicMessage> {
  const members = new Map(fields.map((field) => [field.localName, checkUnder(field.jsonName, singleCheck(field))]));
  const missingText = `needs one of ${fields.map(({ jsonName }) => jsonName).join(", ")}`;
  return (message, run, depth) => {
    const { case: name, value } = message[localName] as OneofValue;
    const check = name === undefined ? undefined : members.get(name);
    if (check === undefined) addViolation(run.violations, missingText);
    else check(value, run, depth);
  };
}

/** The check of a single field; `undefined` when there is nothing to check. */
function memberCheck(field: DescField): Check<DynamicMessage> | undefined {
  const { localName, jsonName } = field;
  const inner = fieldCheck(field);
  const missing = isRequired(field) ? requiredText(field) : undefined;
  if (inner === undefined && missing === undefined) return undefined;
  const check = checkUnder(jsonName, inner);
  const report = checkUnder(jsonName, (_, { violations }) => addViolation(violations, missing ?? ""));
  const isUnset = unsetTest(field);
  return (message, run, depth) => {
    const value = message[localName];
    if (!isUnset(value)) check(value, run, depth);
    else if (missing !== undefined) report(value, run, depth);
  };
}

/** Puts the name of a member before the violations in it. */
function checkUnder(name: string, check: Check | undefined): Check {
  if (check === undefined) return noop;
  return (value, run, depth) => {
    const before = run.violations.length;
    check(value, run, depth);
    prefixMember(run.violations, before, name);
  };
}

function unsetTest(field: DescField): (value: unknown) => boolean {
  if (field.fieldKind === "list") return (list) => (list as readonly unknown[]).length === 0;
  if (field.fieldKind === "map" || field.fieldKind === "message" || field.proto.proto3Optional) {
    return (value) => value === undefined;
  }
  return (value) => value === "" || value === 0 || value === false;
}

function requiredText(field: DescField): string {
  if (field.fieldKind === "list") return "needs at least one entry";
  return field.fieldKind === "enum" ? `is required: ${listWords(field.enum)}` : "is required";
}

function fieldCheck(field: DescField): Check | undefined {
  const check = singleCheck(field);
  if (field.fieldKind === "list") return listCheck(field, check);
  return field.fieldKind === "map" ? mapCheck(check) : check;
}

function listCheck(field: DescField, check: Check | undefined): Check {
  const limit = findCountRule(field);
  return (list, run, depth) => {
    const entries = list as readonly unknown[];
    const { violations } = run;
    const max = run.limits[limit];
    if (entries.length > max) {
      addViolation(violations, `must not have more than ${max} entries`);
      return;
    }
    if (check === undefined) return;
    for (let index = 0; index < entries.length; index++) {
      const before = violations.length;
      check(entries[index], run, depth + 1);
      prefixIndex(violations, before, index);
    }
  };
}

function mapCheck(check: Check | undefined): Check {
  return (map, run, depth) => {
    for (const [key, value] of Object.entries(map as object)) {
      checkUnder(key, (entry) => {
        checkKey(key, run);
        check?.(entry, run, depth + 1);
      })(value, run, depth);
    }
  };
}

/** Check of a singular field that is set, or of one entry of a list or map. */
function singleCheck(field: DescField): Check | undefined {
  const { message, enum: words, scalar } = field;
  if (words !== undefined) return enumCheck(words);
  if (scalar !== undefined) return scalar === ScalarType.STRING ? stringCheck(field) : rangeCheck(field);
  const builtIn = wellKnownChecks.get(message?.typeName ?? "");
  if (builtIn !== undefined || message === undefined) return builtIn;
  // Compiled on first use, since message types may be recursive.
  let check: Check<AnyMessage> | undefined;
  return (value, run, depth) => {
    check ??= messageCheck(message);
    check(value as AnyMessage, run, depth);
  };
}

const wellKnownChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  [
    "google.protobuf.Struct",
    (json, run, depth) => {
      if (!run.isRead) checkJson(json as JsonObject, run, depth);
    },
  ],
  [
    "google.protobuf.Value",
    (value, run, depth) => {
      if (!run.isRead) checkValue(value as Value, run, depth);
    },
  ],
  [
    "google.protobuf.Timestamp",
    (timestamp, { violations }) => {
      if (!isTimestampInRange(timestamp as Timestamp)) addViolation(violations, "must lie in the years 1 to 9999");
    },
  ],
]);

function stringCheck(field: DescField): Check {
  const limit = findLengthRule(field);
  const isHeader = isHeaderField(field);
  return (value, run) => {
    const text = value as string;
    const max = limit === undefined ? Number.POSITIVE_INFINITY : run.limits[limit];
    if (text.length > max) addViolation(run.violations, `must not be longer than ${max} characters`);
    else if (!run.isRead) checkString(text, run);
    if (isHeader && !headerText.test(text))
      addViolation(run.violations, "must be printable ASCII: it is sent as a header");
  };
}

const headerText = /^[\x20-\x7e]*$/;

function rangeCheck(field: DescField): Check | undefined {
  const range = findRangeRule(field);
  if (range === undefined) return undefined;
  const [min, max] = range;
  const text = max === Number.POSITIVE_INFINITY ? `must be ${min} or more` : `must be ${min} to ${max}`;
  return (value, { violations }) => {
    const number = value as number;
    if (number < min || number > max) addViolation(violations, text);
  };
}

function enumCheck(desc: DescEnum): Check {
  const numbers = new Set<unknown>(desc.values.map(({ number }) => number));
  const text = `must be ${listWords(desc)}`;
  return (value, { violations }) => {
    if (!numbers.has(value)) addViolation(violations, text);
  };
}
