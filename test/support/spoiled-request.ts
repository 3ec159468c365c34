import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { isJsonObject, isRequired, setOwn } from "../../src/protocol/codec/outline/dynamic.js";

// Requests that are invalid in one place, generated from the descriptors: every field of every request with every fault
// its kind allows.

/** A request with one fault. */
export interface FaultyRequest {
  readonly title: string;
  readonly fault: string;
  /** Top-level member of the request that holds the fault, and the spoiled field itself. */
  readonly member: string;
  readonly field: DescField;
  readonly json: JsonObject;
  /** Path that the error must name, or one below it. `undefined` if the request may also be accepted. */
  readonly names: string | undefined;
}

interface Place {
  readonly field: DescField;
  /** Path of the field: `message.parts[0].text`. */
  readonly path: string;
  /** Keys that lead to the object that holds the field. */
  readonly keys: readonly (string | number)[];
}

interface Fault {
  readonly fault: string;
  /** Puts the fault into the object that holds the field. */
  readonly put: (object: JsonObject, name: string) => void;
  readonly names: string | undefined;
}

// Valid values of fields that do not accept any text. The tenant and the task are left out.
const validValues: ReadonlyMap<string, JsonValue | undefined> = new Map<string, JsonValue | undefined>([
  ["tenant", undefined],
  ["Message.task_id", undefined],
  ["Message.role", "ROLE_USER"],
  ["ListTasksRequest.page_token", undefined],
  ["TaskPushNotificationConfig.url", "http://127.0.0.1:9/hook"],
  ["google.protobuf.Struct", { key: "value" }],
  ["google.protobuf.Value", { list: [1, "two", null] }],
  ["google.protobuf.Timestamp", "2026-03-04T05:06:07.000Z"],
]);

/** Text of any length: only the request's size limits it. */
const unlimitedTexts: ReadonlySet<string> = new Set(["Part.text", "Part.url", "Part.raw"]);

/** A request with every field filled in; a list of messages with a oneof has one entry for each arm. */
export function fullRequest(desc: DescMessage): JsonObject {
  return variantsOf(desc)[0] ?? {};
}

function variantsOf(desc: DescMessage): JsonObject[] {
  const members = Object.fromEntries(desc.fields.filter(({ oneof }) => oneof === undefined).flatMap(entryOf));
  const arms = desc.oneofs.flatMap(({ fields }) => fields);
  return arms.length === 0 ? [members] : arms.map((arm) => ({ ...members, ...Object.fromEntries(entryOf(arm)) }));
}

function entryOf(field: DescField): [string, JsonValue][] {
  const value = validValueOf(field);
  return value === undefined ? [] : [[field.jsonName, value]];
}

function validValueOf(field: DescField): JsonValue | undefined {
  const { message, enum: words, scalar } = field;
  for (const name of [nameOf(field), field.name, message?.typeName ?? ""]) {
    if (validValues.has(name)) return validValues.get(name);
  }
  if (message !== undefined) return field.fieldKind === "list" ? variantsOf(message) : variantsOf(message)[0];
  const one = words === undefined ? scalarValue(scalar) : (words.values[1]?.name ?? "");
  return field.fieldKind === "list" ? [one] : one;
}

function scalarValue(scalar: ScalarType | undefined): JsonValue {
  if (scalar === ScalarType.BOOL) return true;
  if (scalar === ScalarType.INT32) return 1;
  return scalar === ScalarType.BYTES ? "AAEC" : "x1";
}

function nameOf({ parent, name }: DescField): string {
  return `${parent.name}.${name}`;
}

/** Every way to spoil one field of a request. */
export function spoiledRequests(desc: DescMessage): FaultyRequest[] {
  const validRequest = fullRequest(desc);
  return placesOf(desc, validRequest, [], "").flatMap((place) =>
    faultsOf(place).map(({ fault, put, names }) => ({
      title: `${place.path} ${fault}`,
      fault,
      member: String(place.keys[0] ?? place.field.jsonName),
      field: place.field,
      json: spoil(validRequest, place, put),
      names,
    })),
  );
}

function placesOf(desc: DescMessage, json: JsonValue, keys: Place["keys"], around: string): Place[] {
  if (!isJsonObject(json)) return [];
  const here = desc.fields.filter(({ oneof, jsonName }) => oneof === undefined || jsonName in json);
  return here.flatMap((field) => {
    const path = around === "" ? field.jsonName : `${around}.${field.jsonName}`;
    const { message } = field;
    if (message === undefined || validValues.has(message.typeName)) return [{ field, path, keys }];
    const value = json[field.jsonName] ?? {};
    const below = [...keys, field.jsonName];
    const inside = Array.isArray(value)
      ? value.flatMap((entry, index) => placesOf(message, entry, [...below, index], `${path}[${index}]`))
      : placesOf(message, value, below, path);
    return [{ field, path, keys }, ...inside];
  });
}

function spoil(validRequest: JsonObject, { keys, field }: Place, put: Fault["put"]): JsonObject {
  const json = JSON.parse(JSON.stringify(validRequest)) as JsonObject;
  let at: JsonValue = json;
  for (const key of keys) at = Reflect.get(at as object, key) as JsonValue;
  put(at as JsonObject, field.jsonName);
  return json;
}

function faultsOf(place: Place): Fault[] {
  const { field, path } = place;
  const around = path.slice(0, path.lastIndexOf("."));
  const requiredPath = field.oneof === undefined ? (isRequired(field) ? path : undefined) : around;
  const takesNull = field.message?.typeName === "google.protobuf.Value";
  const faults: Fault[] = [
    { fault: "missing", put: (object, name) => delete object[name], names: requiredPath },
    { fault: "null", put: setTo(null), names: takesNull ? undefined : requiredPath },
    ...Object.entries(kinds)
      .filter(([kind]) => !takesNull && kind !== kindOf(field))
      .map(([kind, value]) => ({ fault: `is of kind ${kind}`, put: setTo(value), names: path })),
    ...(field.oneof?.fields ?? [])
      .filter((other) => other !== field)
      .map((other) => ({ fault: `beside ${other.jsonName}`, put: besides(other), names: around })),
  ];
  if (field.fieldKind !== "list") return [...faults, ...contentFaults(field, path)];
  const entries = Array(1_000).fill(firstOf(validValueOf(field)));
  return [
    ...faults,
    { fault: "with too many entries", put: setTo(entries), names: path },
    { fault: "with an entry of null", put: setTo([null]), names: path },
    ...contentFaults(field, path).map(({ put, ...fault }) => ({ ...fault, put: inList(put) })),
  ];
}

const kinds = { string: "x", number: 0.5, boolean: true, array: [], object: {} } as const;

function kindOf({ fieldKind, message, scalar, enum: words }: DescField): keyof typeof kinds | undefined {
  if (fieldKind === "list") return "array";
  if (message !== undefined) return message.typeName === "google.protobuf.Timestamp" ? undefined : "object";
  if (scalar === ScalarType.STRING || scalar === ScalarType.BYTES) return "string";
  return scalar === ScalarType.BOOL && words === undefined ? "boolean" : undefined;
}

const setTo =
  (value: unknown): Fault["put"] =>
  (object, name) => {
    object[name] = value as JsonValue;
  };

const besides =
  (other: DescField): Fault["put"] =>
  (object) => {
    object[other.jsonName] = validValueOf(other) ?? null;
  };

const inList =
  (put: Fault["put"]): Fault["put"] =>
  (object, name) => {
    const entry: JsonObject = {};
    put(entry, "entry");
    object[name] = Object.hasOwn(entry, "entry") ? [entry["entry"] ?? null] : [];
  };

function firstOf(value: JsonValue | undefined): JsonValue {
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** What can be wrong with the content of a field or of a list entry. */
function contentFaults(field: DescField, path: string): Fault[] {
  const faultsWith = (faults: Readonly<Record<string, unknown>>): Fault[] =>
    Object.entries(faults).map(([fault, value]) => ({ fault, put: setTo(value), names: path }));
  const { message, enum: words, scalar } = field;
  if (words !== undefined) return faultsWith({ "with an unknown word": "NOPE", "with an unknown number": 99 });
  if (scalar === ScalarType.INT32) return faultsWith({ fractional: 1.5, "over 32 bits": 2 ** 40, negative: -1 });
  if (scalar === ScalarType.BYTES)
    return faultsWith({ "that is no base64": "!!!", "cut off": "a", "wrongly padded": "ab=c" });
  if (scalar === ScalarType.STRING) return textFaults(field, path);
  if (message?.typeName === "google.protobuf.Timestamp") {
    return faultsWith({ "that is no time": "yesterday", "of month 13": "2026-13-01T00:00:00Z" });
  }
  if (message !== undefined && validValues.has(message.typeName)) return faultsWith(freeFaults());
  const pollute = (object: JsonObject, name: string): void => {
    const inner = object[name];
    if (isJsonObject(inner)) setOwn(inner, "__proto__", { messageId: "evil", polluted: true });
  };
  return message === undefined ? [] : [{ fault: "with a member __proto__", put: pollute, names: undefined }];
}

function textFaults(field: DescField, path: string): Fault[] {
  const isFree = unlimitedTexts.has(`${field.parent.name}.${field.name}`);
  const needsText = isRequired(field) && field.fieldKind !== "list";
  return [
    { fault: "empty", put: setTo(""), names: needsText ? path : undefined },
    { fault: "too long", put: setTo("x".repeat(10_000)), names: isFree ? undefined : path },
    { fault: "with half a surrogate pair", put: setTo("a\ud800b"), names: path },
    { fault: "with line breaks", put: setTo("a\r\nX-Injected: yes\r\n\r\nb"), names: undefined },
    { fault: "with a zero byte", put: setTo("a\0b"), names: undefined },
  ];
}

function freeFaults(): Readonly<Record<string, JsonObject>> {
  let deep: JsonObject = {};
  for (let level = 0; level < 100; level++) deep = { deep };
  const pollute: JsonObject = {};
  setOwn(pollute, "__proto__", { polluted: true });
  return {
    "that is too deep": deep,
    "with half a surrogate pair": { key: "\ud800" },
    "with half a surrogate pair in a key": { "\ud800": 1 },
    "with a member __proto__": pollute,
    "with a member __proto__ inside": { inner: [pollute] },
  };
}
