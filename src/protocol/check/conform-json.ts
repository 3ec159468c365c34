import type { JsonValue } from "@bufbuild/protobuf";
import { compactValue, keptJsonOf } from "../codec/json/compact-value.js";
import { checkDepth, checkKey, type FreeJsonCheck } from "../codec/json/struct.js";
import type { OneofValue } from "../codec/outline/dynamic.js";
import { addViolation, underIndex, underMember } from "../violations.js";

// Free JSON of untyped code, in both of its message forms: plain objects (`metadata`) and Value messages (`data`). A
// run ends with the first violation, since a cyclic object would never end.

/** Returns a value, repaired in a copy where that loses nothing; records what cannot be encoded. */
export type Mend = (value: unknown, run: FreeJsonCheck, depth: number) => unknown;

export const mendString: Mend = (value, run) =>
  typeof value === "string" ? value.toWellFormed() : misfit(value, "a string", run);

/** A JSON object. As in `JSON.stringify`, undefined members are omitted and a Date converts itself. */
export const mendJsonObject: Mend = (value, run, depth) => {
  const mended = isRecord(value) ? mendJson(value, run, depth) : value;
  const isFit = run.violations.length > 0 || (isRecord(mended) && !Array.isArray(mended));
  return isFit ? mended : misfit(mended, "an object", run);
};

function mendJson(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return mendNumber(value, run, depth);
  if (typeof value === "boolean" || value === null) return value;
  if (!isRecord(value)) return misfit(value, "JSON", run);
  if (!checkDepth(run, depth)) return value;
  if (Array.isArray(value)) return mendList(value, run, depth, mendJson);
  const { toJSON } = value;
  if (typeof toJSON === "function") return mendJson(Reflect.apply(toJSON, value, []), run, depth + 1);
  return mendEntries(value, run, depth, (entry, ...rest) => (entry === undefined ? entry : mendJson(entry, ...rest)));
}

const mendNumber: Mend = (value, run) => (Number.isFinite(value) ? value : misfit(value, "a finite number", run));

/** A `google.protobuf.Value`. */
export const mendValue: Mend = (value, run, depth) => {
  const json = isRecord(value) ? keptJsonOf(value) : undefined;
  if (json !== undefined) {
    const mended = mendJson(json, run, depth);
    return mended === json ? value : compactValue(mended as JsonValue);
  }
  const kind = isRecord(value) ? value["kind"] : undefined;
  const { case: name, value: given } = (isRecord(kind) ? kind : {}) as Partial<OneofValue>;
  const mend = kinds.get(name);
  if (mend === undefined) return misfit(value, "a google.protobuf.Value", run);
  const mended = mend(given, run, depth);
  return typed("google.protobuf.Value", value, "kind", mended === given ? kind : { case: name, value: mended });
};

const kinds: ReadonlyMap<unknown, Mend> = new Map<unknown, Mend>([
  ["nullValue", () => 0],
  ["boolValue", (value, run) => (typeof value === "boolean" ? value : misfit(value, "true or false", run))],
  ["numberValue", mendNumber],
  ["stringValue", mendString],
  ["listValue", mendListValue],
  ["structValue", mendStructValue],
]);

function mendListValue(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  const values = isRecord(value) ? value["values"] : undefined;
  if (!Array.isArray(values)) return misfit(value, "a google.protobuf.ListValue", run);
  const mended = checkDepth(run, depth) ? mendList(values, run, depth, mendValue) : values;
  return typed("google.protobuf.ListValue", value, "values", mended);
}

function mendStructValue(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  const fields = isRecord(value) ? value["fields"] : undefined;
  if (!isRecord(fields)) return misfit(value, "a google.protobuf.Struct", run);
  const mended = checkDepth(run, depth) ? mendEntries(fields, run, depth, mendValue) : fields;
  return typed("google.protobuf.Struct", value, "fields", mended);
}

/** The message unchanged, or rebuilt if its type or its one field differs. */
function typed(typeName: string, value: unknown, name: string, field: unknown): unknown {
  const isFit = isRecord(value) && value["$typeName"] === typeName && value[name] === field;
  return isFit ? value : { $typeName: typeName, [name]: field };
}

/** Repairs the entries of a list, which is copied only when one of them changes. */
export function mendList(list: readonly unknown[], run: FreeJsonCheck, depth: number, mend: Mend): readonly unknown[] {
  let made: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const mended = mend(list[index], run, depth + 1);
    if (run.violations.length > 0) {
      underIndex(run.violations, 0, index);
      return list;
    }
    if (mended === list[index]) continue;
    made ??= [...list];
    made[index] = mended;
  }
  return made ?? list;
}

/** The same for the members of an object; one that becomes `undefined` is omitted. */
function mendEntries(object: object, run: FreeJsonCheck, depth: number, mend: Mend): object {
  const made: { [key: string]: unknown } = {};
  let changed = false;
  for (const [key, entry] of Object.entries(object)) {
    const name = key.toWellFormed();
    const mended = checkKey(name, run) ? mend(entry, run, depth + 1) : entry;
    if (run.violations.length > 0) {
      underMember(run.violations, 0, name);
      return object;
    }
    changed ||= mended !== entry || name !== key || mended === undefined;
    if (mended !== undefined) made[name] = mended;
  }
  return changed ? made : object;
}

export function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}

/** Records that a value has the wrong kind. */
export function misfit(value: unknown, wanted: string, { violations }: FreeJsonCheck): unknown {
  addViolation(violations, `must be ${wanted}, not ${kindOf(value)}`);
  return value;
}

function kindOf(value: unknown): string {
  if (value === null || typeof value === "number") return String(value);
  return Array.isArray(value) ? "an array" : `of type ${typeof value}`;
}
