import {
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { type DynamicMessage, isOneof, type OneofValue, perMessageType, wordsOf } from "./dynamic.js";
import { scalarOf } from "./json-scalars.js";
import { checkDepth, checkKey, type FreeJsonCheck } from "./json-struct.js";
import { defaultValidationLimits } from "./validation-limits.js";
import { addViolation, underIndex, underMember, type Violations, violationText } from "./violations.js";

// What code without types says is a message, made to be one: every binding can write it, and all of them write the same.
// Compiled once per message type, like the reader. What is right is given back as it is, not copied.

/** Gives the value back, mended where nothing is lost by it; notes what cannot be mended. */
type Fit = (value: unknown, run: FreeJsonCheck, depth: number) => unknown;

/**
 * Holds a message of an agent against its type. Fields that were left out are filled in, and broken Unicode is mended, in a
 * copy. `depth` is how deep the message will lie in the largest reply that holds it. Throws a `TypeError` that names the
 * first field that cannot be written.
 */
export function conform<Desc extends DescMessage>(desc: Desc, message: unknown, depth: number): MessageShape<Desc> {
  return settled(depth, (run) => messageFit(desc)(message, run, depth)) as MessageShape<Desc>;
}

/** The same for free JSON that stands alone; `name` is what it is called. */
export function conformJson<T extends JsonValue>(json: T, name: string, depth: number): T {
  return settled(depth, (run) => {
    const fitted = fitStruct(json, run, depth);
    underMember(run.violations, 0, name);
    return fitted;
  }) as T;
}

function settled(depth: number, fit: (run: FreeJsonCheck) => unknown): unknown {
  const violations: Violations = [];
  const fitted = fit({ maxDepth: Math.max(depth, defaultValidationLimits.jsonDepthMax), lenient: true, violations });
  const [first] = violations;
  if (first !== undefined) throw new TypeError(violationText(first));
  return fitted;
}

interface MemberFit {
  readonly name: string;
  readonly fit: Fit;
}

const messageFit = perMessageType((desc: DescMessage): Fit => {
  const members = desc.members.map((member) => (isOneof(member) ? oneofFit(member) : fieldFit(member)));
  return (value, run, depth) => {
    if (!isRecord(value)) return misfit(value, "an object", run);
    let made: DynamicMessage | undefined;
    if (value["$typeName"] !== desc.typeName) made = { ...value, $typeName: desc.typeName };
    for (const { name, fit } of members) {
      const fitted = fit(value[name], run, depth + 1);
      if (fitted === value[name]) continue;
      made ??= { ...value, $typeName: desc.typeName };
      made[name] = fitted;
    }
    return made ?? value;
  };
});

function oneofFit({ localName, fields }: DescOneof): MemberFit {
  const members = new Map<unknown, MemberFit>(fields.map((field) => [field.localName, fieldFit(field)]));
  const needed = `needs one of ${fields.map(({ localName }) => localName).join(", ")}`;
  return {
    name: localName,
    fit(value, run, depth) {
      const { case: name, value: given } = (isRecord(value) ? value : {}) as Partial<OneofValue>;
      const member = members.get(name);
      if (member === undefined) {
        addViolation(run.violations, needed);
        return value;
      }
      const fitted = given === undefined ? misfit(given, "set", run) : member.fit(given, run, depth);
      return fitted === given ? value : { case: name, value: fitted };
    },
  };
}

function fieldFit(field: DescField): MemberFit {
  const one = singleFit(field);
  const fit = field.fieldKind === "list" ? listFit(one) : one;
  const isOptional = field.fieldKind === "message" || field.proto.proto3Optional;
  return {
    name: field.localName,
    fit(value, run, depth) {
      if (value === undefined) return isOptional ? undefined : zeroOf(field);
      const before = run.violations.length;
      const fitted = fit(value, run, depth);
      if (run.violations.length !== before) underMember(run.violations, before, field.localName);
      return fitted;
    },
  };
}

function zeroOf(field: DescField): unknown {
  if (field.fieldKind === "list") return [];
  return field.fieldKind === "scalar" ? scalarOf(field.scalar).zero : 0;
}

function listFit(fit: Fit): Fit {
  return (value, run, depth) =>
    Array.isArray(value) ? mapped(value, run, (each) => fit(each, run, depth + 1)) : misfit(value, "an array", run);
}

/** Maps a list that is copied only when an entry changes; stops at the first violation. */
function mapped(
  list: readonly unknown[],
  { violations }: FreeJsonCheck,
  map: (entry: unknown) => unknown,
): readonly unknown[] {
  let made: unknown[] | undefined;
  for (let index = 0; index < list.length && violations.length === 0; index++) {
    const fitted = map(list[index]);
    if (violations.length > 0) underIndex(violations, 0, index);
    if (fitted === list[index]) continue;
    made ??= [...list];
    made[index] = fitted;
  }
  return made ?? list;
}

function singleFit({ message, enum: words, scalar }: DescField): Fit {
  if (words !== undefined) {
    const numbers = new Set<unknown>(words.values.map(({ number }) => number));
    return (value, run) => (numbers.has(value) ? value : misfit(value, wordsOf(words), run));
  }
  if (scalar !== undefined) return scalarFits.get(scalar) ?? ((value) => value);
  if (message?.typeName === "google.protobuf.Struct") return fitStruct;
  if (message?.typeName === "google.protobuf.Value") return fitValue;
  // Compiled when first met, since message types may hold each other.
  let fit: Fit | undefined;
  return (value, run, depth) => {
    fit ??= messageFit(message as DescMessage);
    return fit(value, run, depth);
  };
}

const fitString: Fit = (value, run) =>
  typeof value === "string" ? value.toWellFormed() : misfit(value, "a string", run);

const scalarFits: ReadonlyMap<ScalarType, Fit> = new Map<ScalarType, Fit>([
  [ScalarType.STRING, fitString],
  [ScalarType.BOOL, (value, run) => (typeof value === "boolean" ? value : misfit(value, "true or false", run))],
  [
    ScalarType.INT32,
    (value, run) => (value === (Number(value) | 0) ? value : misfit(value, "an integer of 32 bits", run)),
  ],
  [ScalarType.BYTES, (value, run) => (value instanceof Uint8Array ? value : misfit(value, "a Uint8Array", run))],
]);

/** A JSON object; members that are `undefined` are left out, as `JSON.stringify` leaves them out. */
function fitStruct(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  return isRecord(value) && !Array.isArray(value) ? fitJson(value, run, depth) : misfit(value, "an object", run);
}

function fitJson(value: unknown, run: FreeJsonCheck, depth: number): unknown {
  switch (typeof value) {
    case "string":
      return value.toWellFormed();
    case "number":
      return Number.isFinite(value) ? value : misfit(value, "a finite number", run);
    case "boolean":
      return value;
    case "object":
      break;
    default:
      return misfit(value, "JSON", run);
  }
  if (value === null || !checkDepth(run, depth)) return value;
  if (Array.isArray(value)) return mapped(value, run, (each) => fitJson(each, run, depth + 1));
  // A Date and its like say themselves what they are in JSON.
  if ("toJSON" in value && typeof value.toJSON === "function") return fitJson(value.toJSON(), run, depth + 1);
  return mappedEntries(value, run, (each) => (each === undefined ? undefined : fitJson(each, run, depth + 1)));
}

const fitValue: Fit = (value, run, depth) => {
  const kind = isRecord(value) ? value["kind"] : undefined;
  const { case: name, value: given } = (isRecord(kind) ? kind : {}) as Partial<OneofValue>;
  const fit = valueFits.get(name);
  if (fit === undefined) return misfit(value, "a google.protobuf.Value", run);
  const fitted = fit(given, run, depth);
  return fitted === given ? value : { $typeName: "google.protobuf.Value", kind: { case: name, value: fitted } };
};

const valueFits: ReadonlyMap<unknown, Fit> = new Map<unknown, Fit>([
  ["nullValue", () => 0],
  ["boolValue", (value, run) => (typeof value === "boolean" ? value : misfit(value, "true or false", run))],
  ["numberValue", (value, run) => (Number.isFinite(value) ? value : misfit(value, "a finite number", run))],
  ["stringValue", fitString],
  [
    "listValue",
    (value, run, depth) => {
      const values = isRecord(value) ? value["values"] : undefined;
      if (!Array.isArray(values)) return misfit(value, "a google.protobuf.ListValue", run);
      if (!checkDepth(run, depth)) return value;
      const fitted = mapped(values, run, (each) => fitValue(each, run, depth + 1));
      return fitted === values ? value : { $typeName: "google.protobuf.ListValue", values: fitted };
    },
  ],
  [
    "structValue",
    (value, run, depth) => {
      const fields = isRecord(value) ? value["fields"] : undefined;
      if (!isRecord(fields)) return misfit(value, "a google.protobuf.Struct", run);
      if (!checkDepth(run, depth)) return value;
      const fitted = mappedEntries(fields, run, (each) => fitValue(each, run, depth + 1));
      return fitted === fields ? value : { $typeName: "google.protobuf.Struct", fields: fitted };
    },
  ],
]);

/** Maps the members of an object, which is copied only when one of them changes; stops at the first violation. */
function mappedEntries(object: object, run: FreeJsonCheck, map: (entry: unknown) => unknown): object {
  const { violations } = run;
  const made: { [key: string]: unknown } = {};
  let changed = false;
  for (const [key, entry] of Object.entries(object)) {
    const name = key.toWellFormed();
    const fitted = checkKey(name, run) ? map(entry) : entry;
    if (violations.length > 0) {
      underMember(violations, 0, name);
      return object;
    }
    changed ||= fitted !== entry || name !== key || fitted === undefined;
    if (fitted !== undefined) made[name] = fitted;
  }
  return changed ? made : object;
}

function isRecord(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}

function misfit(value: unknown, wanted: string, { violations }: FreeJsonCheck): unknown {
  addViolation(violations, `must be ${wanted}, not ${kindOf(value)}`);
  return value;
}

function kindOf(value: unknown): string {
  if (value === null || typeof value === "number") return String(value);
  if (Array.isArray(value)) return "an array";
  return value === undefined ? "missing" : `of type ${typeof value}`;
}
