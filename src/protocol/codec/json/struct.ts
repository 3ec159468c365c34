import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ListValue, Struct, Value } from "@bufbuild/protobuf/wkt";
import { addViolation, prefixIndex, prefixMember, type Violations } from "../../violations.js";
import { setOwn } from "../outline/dynamic.js";
import { compactValue, findKeptJson } from "./compact-value.js";

// Free JSON: `metadata` and similar fields stay plain JSON objects, as protobuf-es holds a Struct in a field; a part's
// `data` becomes a Value message. Neither is trusted: depth, keys, strings and numbers are checked.

/** The state of a walk over free JSON. */
export interface FreeJsonCheck {
  readonly maxDepth: number;
  /** Accepts lone surrogates, which the encoders replace. */
  readonly lenient: boolean;
  readonly violations: Violations;
}

/** Checks free JSON without converting it. `depth` is the value's own depth; the outermost object is 1. */
export function checkJson(json: JsonValue, check: FreeJsonCheck, depth: number): void {
  switch (typeof json) {
    case "string":
      checkString(json, check);
      return;
    case "number":
      checkNumber(json, check);
      return;
    case "object":
      if (json !== null && checkDepth(check, depth)) checkEntries(json, check, depth + 1);
  }
}

function checkEntries(json: JsonObject | JsonValue[], check: FreeJsonCheck, depth: number): void {
  const { violations } = check;
  if (Array.isArray(json)) {
    for (let index = 0; index < json.length; index++) {
      const before = violations.length;
      checkJson(json[index] ?? null, check, depth);
      prefixIndex(violations, before, index);
    }
    return;
  }
  for (const key of Object.keys(json)) {
    const before = violations.length;
    checkKey(key, check);
    checkJson(json[key] ?? null, check, depth);
    prefixMember(violations, before, key);
  }
}

/** Converts JSON, which must not change from then on, into a Value message. */
export function valueFromJson(json: JsonValue, check: FreeJsonCheck, depth: number): Value {
  checkJson(json, check, depth);
  return compactValue(json);
}

/** Checks a Value message that did not come from JSON. */
export function checkValue(value: Value, check: FreeJsonCheck, depth: number): void {
  const json = findKeptJson(value);
  if (json !== undefined) {
    checkJson(json as JsonValue, check, depth);
    return;
  }
  const { kind } = value;
  switch (kind.case) {
    case undefined:
      addViolation(check.violations, "needs a value");
      return;
    case "stringValue":
      checkString(kind.value, check);
      return;
    case "numberValue":
      checkNumber(kind.value, check);
      return;
    case "structValue":
      if (checkDepth(check, depth)) checkFields(kind.value, check, depth + 1);
      return;
    case "listValue":
      if (checkDepth(check, depth)) checkValues(kind.value, check, depth + 1);
  }
}

function checkFields(struct: Struct, check: FreeJsonCheck, depth: number): void {
  const { violations } = check;
  for (const [key, value] of Object.entries(struct.fields)) {
    const before = violations.length;
    if (checkKey(key, check)) checkValue(value, check, depth);
    prefixMember(violations, before, key);
  }
}

function checkValues(list: ListValue, check: FreeJsonCheck, depth: number): void {
  const { violations } = check;
  list.values.forEach((value, index) => {
    const before = violations.length;
    checkValue(value, check, depth);
    prefixIndex(violations, before, index);
  });
}

/** Converts a Value message into its JSON, which the caller must not change. */
export function valueToJson(value: Value): JsonValue {
  const json = findKeptJson(value);
  if (json !== undefined) return json as JsonValue;
  const { kind } = value;
  switch (kind.case) {
    case "structValue": {
      const json: JsonObject = {};
      for (const key of Object.keys(kind.value.fields)) {
        const field = kind.value.fields[key];
        if (field !== undefined) setOwn(json, key, valueToJson(field));
      }
      return json;
    }
    case "listValue":
      return kind.value.values.map(valueToJson);
    case "nullValue":
    case undefined:
      return null;
    default:
      return kind.value;
  }
}

/** Records a string that is not well-formed Unicode. */
export function checkString(text: string, check: FreeJsonCheck): void {
  if (!check.lenient && !text.isWellFormed()) addViolation(check.violations, "must be well-formed Unicode");
}

/** Records a forbidden key; returns false when it is invalid. */
export function checkKey(key: string, check: FreeJsonCheck): boolean {
  if (key === "__proto__") {
    addViolation(check.violations, "must not be used as a name");
    return false;
  }
  checkString(key, check);
  return true;
}

// JSON.parse reads 1e999 as Infinity, which has no JSON form.
function checkNumber(number: number, check: FreeJsonCheck): void {
  if (!Number.isFinite(number)) addViolation(check.violations, "must be a finite number");
}

/** Records nesting that is too deep; returns false then. */
export function checkDepth(check: FreeJsonCheck, depth: number): boolean {
  if (depth <= check.maxDepth) return true;
  addViolation(check.violations, `must not be nested deeper than ${check.maxDepth} levels`);
  return false;
}
