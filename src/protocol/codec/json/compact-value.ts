import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ListValue, Struct, Value } from "@bufbuild/protobuf/wkt";
import { setOwn } from "../outline/dynamic.js";

// A part's `data` is a tree of Value messages in the schema. As messages a number takes 90 bytes, as JSON it takes 8
// (Node 24.21). So an object or a list is kept as JSON until its `kind` is read.

const keptJson = Symbol("json");

type KeptJson = JsonObject | readonly JsonValue[];
type CompactValue = Value & { [keptJson]?: KeptJson | undefined };

/** Makes a Value message that keeps its JSON, which must not change from then on. */
export function compactValue(json: JsonValue): Value {
  if (typeof json !== "object" || json === null) return { $typeName: "google.protobuf.Value", kind: createKind(json) };
  const value = { $typeName: "google.protobuf.Value" };
  return Object.defineProperties(value, { kind: lazyKind, [keptJson]: { value: json, configurable: true } }) as Value;
}

/** The JSON that a Value keeps; `undefined` for one that is a tree of messages, and for anything else. */
export function findKeptJson(value: object): KeptJson | undefined {
  return keptJson in value ? (value as CompactValue)[keptJson] : undefined;
}

const lazyKind: PropertyDescriptor & ThisType<CompactValue> = {
  enumerable: true,
  configurable: true,
  get() {
    const kind = createKind((this[keptJson] ?? null) as JsonValue);
    become(this, kind);
    return kind;
  },
  set(kind: Value["kind"]) {
    become(this, kind);
  },
};

/** Makes an ordinary message of a Value that kept its JSON. */
function become(value: CompactValue, kind: Value["kind"]): void {
  delete value[keptJson];
  Object.defineProperty(value, "kind", { value: kind, enumerable: true, configurable: true, writable: true });
}

function createKind(json: JsonValue): Value["kind"] {
  switch (typeof json) {
    case "string":
      return { case: "stringValue", value: json };
    case "number":
      return { case: "numberValue", value: json };
    case "boolean":
      return { case: "boolValue", value: json };
  }
  if (json === null) return { case: "nullValue", value: 0 };
  return Array.isArray(json)
    ? { case: "listValue", value: createList(json) }
    : { case: "structValue", value: createStruct(json) };
}

function createList(json: readonly JsonValue[]): ListValue {
  return { $typeName: "google.protobuf.ListValue", values: json.map(compactValue) };
}

function createStruct(json: JsonObject): Struct {
  const fields: { [key: string]: Value } = {};
  for (const key of Object.keys(json)) setOwn(fields, key, compactValue(json[key] ?? null));
  return { $typeName: "google.protobuf.Struct", fields };
}

/** A deep copy. Missing values become `null`. */
export function copyJson(json: JsonValue | undefined): JsonValue {
  if (typeof json !== "object" || json === null) return json ?? null;
  if (Array.isArray(json)) return json.map(copyJson);
  const copy: JsonObject = {};
  for (const key of Object.keys(json)) setOwn(copy, key, copyJson(json[key]));
  return copy;
}
