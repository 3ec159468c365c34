import type {
  Message as AnyMessage,
  DescEnum,
  DescField,
  DescMessage,
  DescOneof,
  JsonObject,
  JsonValue,
} from "@bufbuild/protobuf";
import { isRecord } from "../../kinds.js";
import { fieldBehaviorOption, requiredBehavior } from "./outline.js";

// Access to messages through their descriptors, shared by the reader, the writer and the validation.

/** A message whose fields are named at run time. */
export type DynamicMessage = AnyMessage & { [field: string]: unknown };

/** The set member of a oneof, in protobuf-es' form. */
export interface OneofValue {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/** Opens a message for access by field name. */
export function dynamic(message: AnyMessage): DynamicMessage {
  return message as DynamicMessage;
}

export function isJsonObject(json: JsonValue | undefined): json is JsonObject {
  return isRecord(json);
}

/** Whether `google.api.field_behavior` marks the field as REQUIRED (spec 1.6). */
export function isRequired({ proto }: DescField): boolean {
  const options = proto.options?.$unknown ?? [];
  // A varint, or several of them prefixed by their length.
  return options.some(
    ({ no, wireType, data }) => no === fieldBehaviorOption && data.includes(requiredBehavior, wireType === 0 ? 0 : 1),
  );
}

/** Distinguishes a oneof from a field: `desc.members` holds both. */
export function isOneof(member: DescField | DescOneof): member is DescOneof {
  return member.kind === "oneof";
}

/** Lists the words of an enum for a description, without the 0 of "unspecified". */
export function listWords(desc: DescEnum): string {
  const words = desc.values.filter(({ number }) => number !== 0).map(({ name }) => name);
  return words.length === 1 ? words.join() : `one of ${words.join(", ")}`;
}

/** Calls `compile` once per message type. */
export function perMessageType<T>(compile: (desc: DescMessage) => T): (desc: DescMessage) => T {
  const results = new WeakMap<DescMessage, T>();
  return (desc) => {
    const existing = results.get(desc);
    if (existing !== undefined) return existing;
    const result = compile(desc);
    results.set(desc, result);
    return result;
  };
}

/** Sets an own property, even one named `__proto__`, which an assignment would treat as the prototype. */
export function setOwn<T>(target: { [key: string]: T }, key: string, value: T): void {
  if (key !== "__proto__") {
    target[key] = value;
    return;
  }
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
