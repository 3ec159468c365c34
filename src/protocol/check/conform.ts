import { type DescField, type DescMessage, type DescOneof, type MessageShape, ScalarType } from "@bufbuild/protobuf";
import { scalarOf } from "../codec/json/scalars.js";
import type { FreeJsonCheck } from "../codec/json/struct.js";
import { type DynamicMessage, isOneof, type OneofValue, perMessageType, wordsOf } from "../codec/outline/dynamic.js";
import { A2AError } from "../errors.js";
import { isObject } from "../kinds.js";
import { defaultValidationLimits } from "../validation-limits.js";
import { addViolation, underMember, violationText } from "../violations.js";
import { listMend, type Mend, mendJsonObject, mendString, mendValue, misfit } from "./conform-json.js";

// An agent may be written in JavaScript or pass on a model's output. So its events are checked against their types
// before they are stored: a task with content that no binding can encode could never be read again. Closures are
// compiled once per message type, like those of the reader.

/** Where content is: its name in errors, and its depth in the largest reply that may contain it. */
interface ContentPlace {
  readonly name: string;
  readonly depth: number;
}

/**
 * Checks a message of an agent against its type. Missing fields are filled in and broken Unicode is repaired in a copy;
 * a valid message is returned as it is. Throws `invalidAgentResponse` with the first field that cannot be encoded.
 */
export function conform<Desc extends DescMessage>(
  desc: Desc,
  message: unknown,
  place: ContentPlace,
): MessageShape<Desc> {
  return runMend(messageMend(desc), message, place) as MessageShape<Desc>;
}

/** The same for a separate JSON object. */
export function conformJson<T extends object>(json: T, place: ContentPlace): T {
  return runMend(mendJsonObject, json, place) as T;
}

function runMend(mend: Mend, value: unknown, { name, depth }: ContentPlace): unknown {
  const run: FreeJsonCheck = { maxDepth: defaultValidationLimits.jsonDepthMax, lenient: true, violations: [] };
  const result = mend(value, run, depth);
  if (run.violations.length === 0) return result;
  underMember(run.violations, 0, name);
  throw new A2AError("invalidAgentResponse", `the event cannot be sent: ${run.violations.map(violationText).join()}`);
}

/** Prefixes recorded violations with a member's name. A violation ends the run, so there is only one. */
function under(name: string, mend: Mend): Mend {
  return (value, run, depth) => {
    const result = mend(value, run, depth);
    if (run.violations.length > 0) underMember(run.violations, 0, name);
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
    if (!isObject(value)) return misfit(value, "an object", run);
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
  const mend = under(name, field.fieldKind === "list" ? listOf(one) : one);
  const isOptional = field.fieldKind === "message" || field.proto.proto3Optional;
  const missing = isOptional ? () => undefined : zeroOf(field);
  return { name, mend: (value, run, depth) => (value === undefined ? missing() : mend(value, run, depth)) };
}

function zeroOf(field: DescField): () => unknown {
  if (field.fieldKind === "list") return () => [];
  const zero = field.fieldKind === "scalar" ? scalarOf(field.scalar).zero : 0;
  return () => zero;
}

function listOf(mend: Mend): Mend {
  const mendAll = listMend(mend);
  return (value, run, depth) => (Array.isArray(value) ? mendAll(value, run, depth) : misfit(value, "an array", run));
}

function singleMend({ message, enum: words, scalar }: DescField): Mend {
  if (words !== undefined) {
    const numbers = new Set<unknown>(words.values.map(({ number }) => number));
    return (value, run) => (numbers.has(value) ? value : misfit(value, wordsOf(words), run));
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

// An agent sets no times: those of its statuses are set when they are written.
const wellKnown: ReadonlyMap<string, Mend> = new Map([
  ["google.protobuf.Struct", mendJsonObject],
  ["google.protobuf.Value", mendValue],
]);

const scalars: ReadonlyMap<ScalarType, Mend> = new Map<ScalarType, Mend>([
  [ScalarType.STRING, mendString],
  [ScalarType.BOOL, (value, run) => (typeof value === "boolean" ? value : misfit(value, "true or false", run))],
  [ScalarType.BYTES, (value, run) => (value instanceof Uint8Array ? value : misfit(value, "a Uint8Array", run))],
]);
