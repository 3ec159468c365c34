import type {
  Message as AnyMessage,
  DescEnum,
  DescField,
  DescMessage,
  JsonObject,
  JsonValue,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { isoTime, parseTimestamp } from "../../timestamp.js";
import { defaultValidationLimits } from "../../validation-limits.js";
import { addViolation, mustBe, omitValue, prefixIndex, prefixMember, type Violations } from "../../violations.js";
import { type DynamicMessage, isJsonObject, listWords, type OneofValue, perMessageType } from "../outline/dynamic.js";
import { emptyMessage } from "./empty-message.js";
import { activeExtensions, reportOmission } from "./reading.js";
import { findScalar } from "./scalars.js";
import { checkDepth, checkJson, checkKey, type FreeJsonCheck, valueFromJson } from "./struct.js";

// Decodes ProtoJSON in one pass, by closures compiled once per message type. Unlike protobuf-es' fromJson it names the
// path of every violation and continues after it (spec 2.3, 6.5).

/** Reads one value. Records violations in `reading.violations` and still returns a value of the right type. */
type ReadValue = (json: JsonValue, reading: FreeJsonCheck, depth: number) => unknown;

interface MemberReader {
  readonly jsonName: string;
  readonly localName: string;
  /** The oneof of the member. */
  readonly oneof: string | undefined;
  /** False where `null` means unset. */
  readonly takesNull: boolean;
  /** Whether a lenient reader leaves out an unreadable value. */
  readonly onlyInforms: boolean;
  /** The other spelling; both at once are an error. */
  readonly protoName: string;
  readonly read: ReadValue;
}

/** The decoded message, as far as it was readable. */
export interface ReadJson<M extends AnyMessage = AnyMessage> {
  readonly message: M;
  readonly violations: Violations;
}

export interface ReadJsonOptions {
  /**
   * For replies of peers: a member that only informs must not cost the content beside it. Enum names are read in any
   * case, without their prefix, and as text of their number; an unknown one is unspecified. Times without a zone are
   * UTC. Times, `metadata`, names and media types that cannot be read are left out, except for `metadata` of an object
   * that lists extensions, or with a member of one that the call activated (`readAnswer`). `null` beside another member
   * of its oneof is unset, and broken Unicode is repaired. Ids and content are read strictly. Default: false.
   */
  readonly lenient?: boolean | undefined;
  /** How deep JSON may be nested; the outermost object is level 1. Default: 64. */
  readonly maxDepth?: number | undefined;
}

/** Decodes a message. It is valid if there are no violations. `undefined` and `null` read as an empty object. */
export function readJson<Desc extends DescMessage>(
  desc: Desc,
  json: JsonValue | undefined,
  { lenient = false, maxDepth = defaultValidationLimits.jsonDepthMax }: ReadJsonOptions = {},
): ReadJson<MessageShape<Desc>> {
  const violations: Violations = [];
  const message = messageReader(desc)(json ?? {}, { lenient, maxDepth, violations }, 1);
  const isClean = !lenient || violations.length === 0;
  return { message: message as MessageShape<Desc>, violations: isClean ? violations : withoutLeftOut(violations) };
}

/** The violations that make an answer unreadable. Reports the others. */
function withoutLeftOut(violations: Violations): Violations {
  return violations.filter(({ field, leftOut }) => {
    if (leftOut !== undefined) reportOmission?.(field, leftOut);
    return leftOut === undefined;
  });
}

const messageReader = perMessageType((desc) => {
  const create = emptyMessage(desc);
  const members = new Map<string, MemberReader>();
  for (const field of desc.fields) {
    const reader = memberReader(field);
    members.set(field.jsonName, reader).set(field.name, reader);
  }
  return (json: JsonValue, reading: FreeJsonCheck, depth: number): AnyMessage => {
    const message = create();
    const { violations } = reading;
    if (!isJsonObject(json)) {
      addViolation(violations, mustBe("an object", json));
      return message;
    }
    if (!checkDepth(reading, depth)) return message;
    for (const key of Object.keys(json)) {
      const member = members.get(key);
      const value = json[key];
      if (member === undefined || !isSet(member, value)) continue;
      if (value === null && reading.lenient && hasOther(member, json, members)) continue;
      const before = violations.length;
      if (isDuplicateName(member, key, json)) addViolation(violations, `is also given as ${member.protoName}`);
      const result = member.read(value, reading, depth + 1);
      if (
        reading.lenient &&
        member.onlyInforms &&
        violations.length !== before &&
        !holdsExtension(member, value, json)
      ) {
        omitValue(violations, before, value);
        prefixMember(violations, before, member.jsonName);
        continue;
      }
      checkOneof(message, member, violations);
      setMember(message, member, result);
      prefixMember(violations, before, member.jsonName);
    }
    return message;
  };
});

function isDuplicateName({ jsonName }: MemberReader, key: string, json: JsonObject): boolean {
  return key !== jsonName && Object.hasOwn(json, jsonName);
}

function isSet({ takesNull }: MemberReader, value: JsonValue | undefined): value is JsonValue {
  return value !== undefined && (value !== null || takesNull);
}

/**
 * Whether another member of the oneof has a value. Some writers send all of them, and `null` for those that are unset.
 */
function hasOther({ oneof, jsonName }: MemberReader, json: JsonObject, members: Map<string, MemberReader>): boolean {
  if (oneof === undefined) return false;
  return Object.keys(json).some((key) => {
    const other = members.get(key);
    return other !== undefined && other.oneof === oneof && other.jsonName !== jsonName && (json[key] ?? null) !== null;
  });
}

/** Whether the value is `metadata` that an extension may need: one that the object lists, or that its call activated. */
function holdsExtension({ localName }: MemberReader, value: JsonValue, { extensions }: JsonObject): boolean {
  if (localName !== "metadata") return false;
  if (Array.isArray(extensions) && extensions.length > 0) return true;
  return isJsonObject(value) && activeExtensions?.some((uri) => uri in value) === true;
}

function checkOneof(message: DynamicMessage, { oneof, localName }: MemberReader, violations: Violations): void {
  if (oneof === undefined) return;
  const other = (message[oneof] as OneofValue).case;
  if (other !== undefined && other !== localName)
    addViolation(violations, `excludes ${other}: only one of them may be set`);
}

function setMember(message: DynamicMessage, { oneof, localName }: MemberReader, value: unknown): void {
  if (oneof === undefined) message[localName] = value;
  else message[oneof] = { case: localName, value };
}

function memberReader(field: DescField): MemberReader {
  return {
    jsonName: field.jsonName,
    protoName: field.name,
    localName: field.localName,
    oneof: field.oneof?.localName,
    takesNull: field.fieldKind === "message" && field.message.typeName === "google.protobuf.Value",
    onlyInforms: onlyInforms(field),
    read: fieldReader(field),
  };
}

/** Members that only inform, by message and field, in the schemas of all versions. */
const informing: ReadonlySet<string> = new Set([
  "Artifact.name",
  "Artifact.description",
  "Part.filename",
  "Part.media_type",
  "FilePart.name",
  "FilePart.mime_type",
]);

function onlyInforms({ name, parent, message, fieldKind }: DescField): boolean {
  if (fieldKind === "message" && message.typeName === "google.protobuf.Timestamp") return true;
  return name === "metadata" || informing.has(`${parent.name}.${name}`);
}

function fieldReader(field: DescField): ReadValue {
  const readOne = singleReader(field);
  if (field.fieldKind === "list") return listReader(readOne);
  return field.fieldKind === "map" ? mapReader(readOne) : readOne;
}

/** Reader of a singular field, or of one entry of a list or a map. */
function singleReader({ message, enum: words, scalar }: DescField): ReadValue {
  if (words !== undefined) return enumReader(words);
  if (scalar !== undefined) return findScalar(scalar).read;
  if (message === undefined) throw new TypeError("a field is a scalar, an enum or a message");
  const builtIn = wellKnownReaders.get(message.typeName);
  if (builtIn !== undefined) return builtIn;
  // Compiled on first use, since message types may be recursive.
  let read: ReadValue | undefined;
  return (json, reading, depth) => {
    read ??= messageReader(message);
    return read(json, reading, depth);
  };
}

const wellKnownReaders: ReadonlyMap<string, ReadValue> = new Map<string, ReadValue>([
  ["google.protobuf.Value", valueFromJson],
  ["google.protobuf.Struct", readStruct],
  ["google.protobuf.Timestamp", readTimestamp],
]);

function readStruct(json: JsonValue, reading: FreeJsonCheck, depth: number): JsonValue {
  if (isJsonObject(json)) checkJson(json, reading, depth);
  else addViolation(reading.violations, mustBe("an object", json));
  return json;
}

function readTimestamp(json: JsonValue, { lenient, violations }: FreeJsonCheck): Timestamp {
  if (typeof json === "string") {
    const timestamp = parseTimestamp(json) ?? (lenient ? parseTimestamp(isoTime(json) ?? "") : undefined);
    if (timestamp !== undefined) return timestamp;
  }
  const formText = typeof json === "string" ? "must be an ISO 8601 time such as 2026-03-04T05:06:07.000Z" : undefined;
  addViolation(violations, formText ?? mustBe("an ISO 8601 time", json));
  return { $typeName: "google.protobuf.Timestamp", seconds: 0n, nanos: 0 };
}

function listReader(read: ReadValue): ReadValue {
  return (json, reading, depth) => {
    const { violations } = reading;
    if (!Array.isArray(json)) {
      addViolation(violations, mustBe("an array", json));
      return [];
    }
    const list: unknown[] = [];
    for (let index = 0; index < json.length; index++) {
      const before = violations.length;
      list.push(read(json[index] ?? null, reading, depth + 1));
      prefixIndex(violations, before, index);
    }
    return list;
  };
}

function mapReader(read: ReadValue): ReadValue {
  return (json, reading, depth) => {
    const { violations } = reading;
    const map: { [key: string]: unknown } = {};
    if (!isJsonObject(json)) {
      addViolation(violations, mustBe("an object", json));
      return map;
    }
    for (const key of Object.keys(json)) {
      const before = violations.length;
      if (checkKey(key, reading)) map[key] = read(json[key] ?? null, reading, depth + 1);
      prefixMember(violations, before, key);
    }
    return map;
  };
}

function enumReader(desc: DescEnum): ReadValue {
  const numbers = new Map<JsonValue, number>();
  const looseNumbers = new Map<string, number>();
  const prefix = desc.values[0]?.name.replace("UNSPECIFIED", "") ?? "";
  for (const { name, number } of desc.values) {
    numbers.set(name, number).set(number, number);
    for (const each of [name, name.slice(prefix.length), String(number)]) looseNumbers.set(looseName(each), number);
  }
  const text = `must be ${listWords(desc)}`;
  return (json, reading) => {
    const number =
      numbers.get(json) ??
      (reading.lenient && typeof json === "string" ? looseNumbers.get(looseName(json)) : undefined);
    if (number !== undefined) return number;
    if (reading.lenient) return 0;
    addViolation(
      reading.violations,
      typeof json === "string" || typeof json === "number" ? text : mustBe("a string", json),
    );
    return 0;
  };
}

/** One spelling for `Working`, `input-required`, `task_state_failed`, and both ways to write canceled. */
function looseName(name: string): string {
  return name.toUpperCase().replace(/\W/g, "_").replace("LLED", "LED");
}
