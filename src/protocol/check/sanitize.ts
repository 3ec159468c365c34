import {
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { compactValue, findKeptJson } from "../codec/json/compact-value.js";
import { findScalar } from "../codec/json/scalars.js";
import { checkDepth, checkKey, type FreeJsonCheck } from "../codec/json/struct.js";
import { type DynamicMessage, isOneof, listWords, type OneofValue, perMessageType } from "../codec/outline/dynamic.js";
import { A2AError } from "../errors.js";
import { isObject } from "../kinds.js";
import { defaultValidationLimits } from "../validation-limits.js";
import { addViolation, prefixIndex, prefixMember, violationText } from "../violations.js";

// An agent may be written in JavaScript or pass on a model's output. So its events are checked against their types
// before they are stored: a task with content that no binding can encode could never be read again. Closures are
// compiled once per message type, like those of the reader. A run ends with the first violation, since a cyclic object would
// never end. What is valid is returned as it is, and what can be repaired is repaired in a copy.

/** Where content is: its name in errors, and its depth in the largest reply that may contain it. */
interface ContentPlace {
  readonly name: string;
  readonly depth: number;
}

/**
 * Checks a message of an agent against its type. Missing fields are filled in and broken Unicode is repaired in a copy;
 * a valid message is returned as it is. Throws `invalidAgentResponse` with the first field that cannot be encoded.
 */
export function sanitize<Desc extends DescMessage>(
  desc: Desc,
  message: unknown,
  place: ContentPlace,
): MessageShape<Desc> {
  return runMend(messageMend(desc), message, place) as MessageShape<Desc>;
}

/** The same for a separate JSON object. */
export function sanitizeJson<T extends object>(json: T, place: ContentPlace): T {
  return runMend(mendJsonObject, json, place) as T;
}

function runMend(mend: Mend, value: unknown, { name, depth }: ContentPlace): unknown {
  const run: FreeJsonCheck = { maxDepth: defaultValidationLimits.jsonDepthMax, lenient: true, violations: [] };
  const result = mend(value, run, depth);
  if (run.violations.length === 0) return result;
  prefixMember(run.violations, 0, name);
  throw new A2AError("invalidAgentResponse", `the event cannot be sent: ${run.violations.map(violationText).join()}`);
}

/** Prefixes recorded violations with a member's name. A violation ends the run, so there is only one. */
function under(name: string, mend: Mend): Mend {
  return (value, run, depth) => {
    const result = mend(value, run, depth);
    if (run.violations.length > 0) prefixMember(run.violations, 0, name);
    return result;
  };
}

interface Member {
  readonly name: string;
  readonly mend: Mend;
}

const messageMend = perMessageType((desc: DescMessage): Mend => {
  const members = desc.members.map((member) => (isOneof(member) ? oneofMember(member) : fieldMember(member)));
  return (value, run, depth) => {
    if (!isObject(value)) return typeMismatch(value, "an object", run);
    let copy: DynamicMessage | undefined;
    if (value["$typeName"] !== desc.typeName) copy = { ...value, $typeName: desc.typeName };
    for (const { name, mend } of members) {
      const before = value[name];
      const after = mend(before, run, depth + 1);
      if (run.violations.length > 0) return value;
      if (after === before) continue;
      copy ??= { ...value, $typeName: desc.typeName };
      copy[name] = after;
    }
    return copy ?? value;
  };
});

function oneofMember({ localName, fields }: DescOneof): Member {
  const members = new Map<unknown, Mend>(fields.map((field) => [field.localName, fieldMember(field).mend]));
  const missingText = `needs one of ${fields.map((field) => field.localName).join(", ")}`;
  return {
    name: localName,
    mend(value, run, depth) {
      const { case: name, value: content } = (isObject(value) ? value : {}) as Partial<OneofValue>;
      const mend = content === undefined ? undefined : members.get(name);
      if (mend === undefined) {
        addViolation(run.violations, missingText);
        return value;
      }
      const result = mend(content, run, depth);
      return result === content ? value : { case: name, value: result };
    },
  };
}

function fieldMember(field: DescField): Member {
  const { localName: name } = field;
  const one = singleMend(field);
  const mend = under(name, field.fieldKind === "list" ? checkList(one) : one);
  const isOptional = field.fieldKind === "message" || field.proto.proto3Optional;
  const missing = isOptional ? () => undefined : findZero(field);
  return { name, mend: (value, run, depth) => (value === undefined ? missing() : mend(value, run, depth)) };
}

function findZero(field: DescField): () => unknown {
  if (field.fieldKind === "list") return () => [];
  const zero = field.fieldKind === "scalar" ? findScalar(field.scalar).zero : 0;
  return () => zero;
}

function checkList(mend: Mend): Mend {
  const mendAll = listMend(mend);
  return (value, run, depth) =>
    Array.isArray(value) ? mendAll(value, run, depth) : typeMismatch(value, "an array", run);
}

function singleMend({ message, enum: words, scalar }: DescField): Mend {
  if (words !== undefined) {
    const numbers = new Set<unknown>(words.values.map(({ number }) => number));
    return (value, run) => (numbers.has(value) ? value : typeMismatch(value, listWords(words), run));
  }
  const builtIn = scalar === undefined ? wellKnown.get(message?.typeName ?? "") : scalars.get(scalar);
  if (builtIn !== undefined) return builtIn;
  if (message === undefined) throw new TypeError("a field is a scalar, an enum or a message");
  // Compiled on first use, since message types may be recursive.
  let mend: Mend | undefined;
  return (value, run, depth) => {
    mend ??= messageMend(message);
    return mend(value, run, depth);
  };
}

// Free JSON of untyped code, in both of its message forms: plain objects (`metadata`) and Value messages (`data`).

/** Returns a value, repaired in a copy where that loses nothing; records what cannot be encoded. */
type Mend = (value: unknown, run: FreeJsonCheck, depth: number) => unknown;

const mendString: Mend = (value, run) =>
  typeof value === "string" ? value.toWellFormed() : typeMismatch(value, "a string", run);

/** A JSON object. As in `JSON.stringify`, undefined members are omitted and a Date converts itself. */
const mendJsonObject: Mend = (value, run, depth) => {
  const result = isObject(value) ? mendJson(value, run, depth) : value;
  const isFit = run.violations.length > 0 || (isObject(result) && !Array.isArray(result));
  return isFit ? result : typeMismatch(result, "an object", run);
};

function mendJson(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return mendNumber(value, run, depth);
  if (typeof value === "boolean" || value === null) return value;
  if (!isObject(value)) return typeMismatch(value, "JSON", run);
  if (!checkDepth(run, depth)) return value;
  if (Array.isArray(value)) return mendJsonList(value, run, depth);
  const { toJSON } = value;
  if (typeof toJSON === "function") return mendJson(Reflect.apply(toJSON, value, []), run, depth + 1);
  return mendJsonEntries(value, run, depth);
}

const mendJsonList = listMend(mendJson);
const mendJsonEntries = entriesMend((entry, run, depth) => (entry === undefined ? entry : mendJson(entry, run, depth)));

const mendNumber: Mend = (value, run) => (Number.isFinite(value) ? value : typeMismatch(value, "a finite number", run));

/** A `google.protobuf.Value`. */
const mendValue: Mend = (value, run, depth) => {
  const json = isObject(value) ? findKeptJson(value) : undefined;
  if (json !== undefined) {
    const result = mendJson(json, run, depth);
    return result === json ? value : compactValue(result as JsonValue);
  }
  const kind = isObject(value) ? value["kind"] : undefined;
  const { case: name, value: content } = (isObject(kind) ? kind : {}) as Partial<OneofValue>;
  const mend = kinds.get(name);
  if (mend === undefined) return typeMismatch(value, "a google.protobuf.Value", run);
  const result = mend(content, run, depth);
  return withKind(value, result === content ? kind : { case: name, value: result });
};

const withKind = rebuild("google.protobuf.Value", "kind");

const kinds: ReadonlyMap<unknown, Mend> = new Map<unknown, Mend>([
  ["nullValue", () => 0],
  ["boolValue", (value, run) => (typeof value === "boolean" ? value : typeMismatch(value, "true or false", run))],
  ["numberValue", mendNumber],
  ["stringValue", mendString],
  ["listValue", mendListValue],
  ["structValue", mendStructValue],
]);

function mendListValue(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  const values = isObject(value) ? value["values"] : undefined;
  if (!Array.isArray(values)) return typeMismatch(value, "a google.protobuf.ListValue", run);
  return withValues(value, checkDepth(run, depth) ? mendValues(values, run, depth) : values);
}

const mendValues = listMend(mendValue);
const withValues = rebuild("google.protobuf.ListValue", "values");

function mendStructValue(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  const fields = isObject(value) ? value["fields"] : undefined;
  if (!isObject(fields)) return typeMismatch(value, "a google.protobuf.Struct", run);
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
function listMend(mend: Mend): MendAll<readonly unknown[]> {
  return (list, run, depth) => {
    let copy: unknown[] | undefined;
    for (let index = 0; index < list.length; index++) {
      const result = mend(list[index], run, depth + 1);
      if (run.violations.length > 0) {
        prefixIndex(run.violations, 0, index);
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
        prefixMember(run.violations, 0, name);
        return object;
      }
      isChanged ||= result !== entry || name !== key || result === undefined;
      if (result !== undefined) copy[name] = result;
    }
    return isChanged ? copy : object;
  };
}

/** Records that a value has the wrong kind. */
function typeMismatch(value: unknown, kind: string, { violations }: FreeJsonCheck): unknown {
  addViolation(violations, `must be ${kind}, not ${describeKind(value)}`);
  return value;
}

function describeKind(value: unknown): string {
  if (value === null || typeof value === "number") return String(value);
  return Array.isArray(value) ? "an array" : `of type ${typeof value}`;
}

// An agent sets no times: those of its statuses are set when they are written.
const wellKnown: ReadonlyMap<string, Mend> = new Map([
  ["google.protobuf.Struct", mendJsonObject],
  ["google.protobuf.Value", mendValue],
]);

const scalars: ReadonlyMap<ScalarType, Mend> = new Map<ScalarType, Mend>([
  [ScalarType.STRING, mendString],
  [ScalarType.BOOL, (value, run) => (typeof value === "boolean" ? value : typeMismatch(value, "true or false", run))],
  [ScalarType.BYTES, (value, run) => (value instanceof Uint8Array ? value : typeMismatch(value, "a Uint8Array", run))],
]);
