import { type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { bytesFromBase64 } from "../../base64.js";
import { addViolation, mustBe } from "../../violations.js";
import type { FreeJsonCheck } from "./struct.js";

/** How a scalar type is read from JSON, and its value when unset. */
export interface ScalarReader {
  readonly zero: string | number | boolean | Uint8Array;
  readonly read: (json: JsonValue, reading: FreeJsonCheck) => unknown;
}

// The scalar types in the protocol's schemas.
const scalars: ReadonlyMap<ScalarType, ScalarReader> = new Map<ScalarType, ScalarReader>([
  [ScalarType.STRING, { zero: "", read: readString }],
  [ScalarType.BOOL, { zero: false, read: readBool }],
  [ScalarType.INT32, { zero: 0, read: readInt32 }],
  [ScalarType.BYTES, { zero: new Uint8Array(0), read: readBytes }],
]);

/** The reader of a scalar type. Throws a `TypeError` for a type outside the protocol's schemas. */
export function findScalar(type: ScalarType): ScalarReader {
  const scalar = scalars.get(type);
  if (scalar === undefined) throw new TypeError(`no JSON form for scalar type ${ScalarType[type]}`);
  return scalar;
}

function readString(json: JsonValue, { lenient, violations }: FreeJsonCheck): string {
  if (typeof json !== "string") {
    addViolation(violations, mustBe("a string", json));
    return "";
  }
  const text = json.toWellFormed();
  if (lenient || text === json) return text;
  addViolation(violations, "must be well-formed Unicode");
  return "";
}

function readBool(json: JsonValue, { lenient, violations }: FreeJsonCheck): boolean {
  if (typeof json === "boolean") return json;
  if (lenient && (json === "true" || json === "false")) return json === "true";
  addViolation(violations, mustBe("true or false", json));
  return false;
}

const decimal = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readInt32(json: JsonValue, { violations }: FreeJsonCheck): number {
  const number = typeof json === "string" && decimal.test(json) ? Number(json) : json;
  if (typeof number === "number" && (number | 0) === number) return number | 0;
  const isNumeric = typeof json === "number" || typeof json === "string";
  addViolation(violations, isNumeric ? "must be an integer of 32 bits" : mustBe("an integer", json));
  return 0;
}

function readBytes(json: JsonValue, { violations }: FreeJsonCheck): Uint8Array {
  if (typeof json !== "string") {
    addViolation(violations, mustBe("a base64 string", json));
    return new Uint8Array(0);
  }
  const bytes = bytesFromBase64(json);
  if (bytes !== undefined) return bytes;
  addViolation(violations, "must be base64");
  return new Uint8Array(0);
}
