import type { JsonValue } from "@bufbuild/protobuf";
import { compactValue, keptJsonOf } from "../codec/json/compact-value.js";
import { checkDepth, checkKey, type FreeJsonCheck } from "../codec/json/struct.js";
import type { OneofValue } from "../codec/outline/dynamic.js";
import { isObject } from "../kinds.js";
import { addViolation, underIndex, underMember } from "../violations.js";

// Free JSON of untyped code, in both of its message forms: plain objects (`metadata`) and Value messages (`data`). A
// run ends with the first violation, since a cyclic object would never end.

/** Returns a value, repaired in a copy where that loses nothing; records what cannot be encoded. */
export type Mend = (value: unknown, run: FreeJsonCheck, depth: number) => unknown;

export const mendString: Mend = (value, run) =>
  typeof value === "string" ? value.toWellFormed() : misfit(value, "a string", run);

/** A JSON object. As in `JSON.stringify`, undefined members are omitted and a Date converts itself. */
export const mendJsonObject: Mend = (value, run, depth) => {
  const result = isObject(value) ? mendJson(value, run, depth) : value;
  const isFit = run.violations.length > 0 || (isObject(result) && !Array.isArray(result));
  return isFit ? result : misfit(result, "an object", run);
};

function mendJson(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return mendNumber(value, run, depth);
  if (typeof value === "boolean" || value === null) return value;
  if (!isObject(value)) return misfit(value, "JSON", run);
  if (!checkDepth(run, depth)) return value;
  if (Array.isArray(value)) return mendJsonList(value, run, depth);
  const { toJSON } = value;
  if (typeof toJSON === "function") return mendJson(Reflect.apply(toJSON, value, []), run, depth + 1);
  return mendJsonEntries(value, run, depth);
}

const mendJsonList = listMend(mendJson);
const mendJsonEntries = entriesMend((entry, run, depth) => (entry === undefined ? entry : mendJson(entry, run, depth)));

const mendNumber: Mend = (value, run) => (Number.isFinite(value) ? value : misfit(value, "a finite number", run));

/** A `google.protobuf.Value`. */
export const mendValue: Mend = (value, run, depth) => {
  const json = isObject(value) ? keptJsonOf(value) : undefined;
  if (json !== undefined) {
    const result = mendJson(json, run, depth);
    return result === json ? value : compactValue(result as JsonValue);
  }
  const kind = isObject(value) ? value["kind"] : undefined;
  const { case: name, value: content } = (isObject(kind) ? kind : {}) as Partial<OneofValue>;
  const mend = kinds.get(name);
  if (mend === undefined) return misfit(value, "a google.protobuf.Value", run);
  const result = mend(content, run, depth);
  return withKind(value, result === content ? kind : { case: name, value: result });
};

const withKind = rebuild("google.protobuf.Value", "kind");

const kinds: ReadonlyMap<unknown, Mend> = new Map<unknown, Mend>([
  ["nullValue", () => 0],
  ["boolValue", (value, run) => (typeof value === "boolean" ? value : misfit(value, "true or false", run))],
  ["numberValue", mendNumber],
  ["stringValue", mendString],
  ["listValue", mendListValue],
  ["structValue", mendStructValue],
]);

function mendListValue(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  const values = isObject(value) ? value["values"] : undefined;
  if (!Array.isArray(values)) return misfit(value, "a google.protobuf.ListValue", run);
  return withValues(value, checkDepth(run, depth) ? mendValues(values, run, depth) : values);
}

const mendValues = listMend(mendValue);
const withValues = rebuild("google.protobuf.ListValue", "values");

function mendStructValue(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  const fields = isObject(value) ? value["fields"] : undefined;
  if (!isObject(fields)) return misfit(value, "a google.protobuf.Struct", run);
  return withFields(value, checkDepth(run, depth) ? mendFields(fields, run, depth) : fields);
}

const mendFields = entriesMend(mendValue);
const withFields = rebuild("google.protobuf.Struct", "fields");

/** Returns a message of one field unchanged, or rebuilt if its type or its field differs. */
function rebuild(typeName: string, name: string): (value: unknown, field: unknown) => unknown {
  return (value, field) => {
    const isFit = isObject(value) && value["$typeName"] === typeName && value[name] === field;
    return isFit ? value : { $typeName: typeName, [name]: field };
  };
}

type MendAll<T> = (all: T, run: FreeJsonCheck, depth: number) => T;

/** Repairs the entries of a list, which is copied only when one of them changes. */
export function listMend(mend: Mend): MendAll<readonly unknown[]> {
  return (list, run, depth) => {
    let copy: unknown[] | undefined;
    for (let index = 0; index < list.length; index++) {
      const result = mend(list[index], run, depth + 1);
      if (run.violations.length > 0) {
        underIndex(run.violations, 0, index);
        return list;
      }
      if (result === list[index]) continue;
      copy ??= [...list];
      copy[index] = result;
    }
    return copy ?? list;
  };
}

/** The same for the members of an object; one that becomes `undefined` is omitted. */
function entriesMend(mend: Mend): MendAll<object> {
  return (object, run, depth) => {
    const copy: { [key: string]: unknown } = {};
    let isChanged = false;
    for (const [key, entry] of Object.entries(object)) {
      const name = key.toWellFormed();
      const result = checkKey(name, run) ? mend(entry, run, depth + 1) : entry;
      if (run.violations.length > 0) {
        underMember(run.violations, 0, name);
        return object;
      }
      isChanged ||= result !== entry || name !== key || result === undefined;
      if (result !== undefined) copy[name] = result;
    }
    return isChanged ? copy : object;
  };
}

/** Records that a value has the wrong kind. */
export function misfit(value: unknown, kind: string, { violations }: FreeJsonCheck): unknown {
  addViolation(violations, `must be ${kind}, not ${kindOf(value)}`);
  return value;
}

function kindOf(value: unknown): string {
  if (value === null || typeof value === "number") return String(value);
  return Array.isArray(value) ? "an array" : `of type ${typeof value}`;
}
