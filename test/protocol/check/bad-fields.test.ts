import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { readJson } from "../../../src/protocol/codec/json/reader.js";
import { operations } from "../../../src/protocol/operations.js";

// Every field of every request, at every depth, with values of every wrong type.

interface Place {
  readonly path: string;
  readonly field: DescField;
  /** Wraps the field's value in a whole request. */
  readonly wrap: (value: JsonValue) => JsonObject;
}

const well = new Set(["google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.Timestamp"]);

function placesOf(desc: DescMessage, path = "", wrap: (json: JsonObject) => JsonObject = (json) => json): Place[] {
  return desc.fields.flatMap((field) => {
    const here = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    const set = (value: JsonValue): JsonObject => wrap({ [field.jsonName]: value });
    const place = { path: here, field, wrap: set };
    if (field.message === undefined || well.has(field.message.typeName)) return [place];
    if (field.fieldKind === "list") return [place, ...placesOf(field.message, `${here}[0]`, (json) => set([json]))];
    return [place, ...placesOf(field.message, here, set)];
  });
}

const kinds = { string: "x", number: 0.5, boolean: true, array: [], object: {} };

const right: Partial<Record<ScalarType, keyof typeof kinds>> = {
  [ScalarType.STRING]: "string",
  [ScalarType.BYTES]: "string",
  [ScalarType.BOOL]: "boolean",
};

/** Returns the values that a field must reject. */
function wrongValues({ fieldKind, message, scalar }: DescField): JsonValue[] {
  if (message?.typeName === "google.protobuf.Value") return [];
  const fitting = fieldKind === "list" ? "array" : scalar === undefined ? undefined : right[scalar];
  const isObject = fieldKind === "message" && message?.typeName !== "google.protobuf.Timestamp";
  return Object.entries(kinds)
    .filter(([kind]) => kind !== (isObject ? "object" : fitting))
    .map(([, value]) => value);
}

const places = operations.flatMap(({ method, input }) => placesOf(input).map((place) => ({ method, input, ...place })));

describe.each(places)("$method $path", ({ input, path, field, wrap }) => {
  it("a field is named when its value is of the wrong kind", () => {
    for (const value of wrongValues(field)) {
      const { violations } = readJson(input, wrap(value));
      expect([value, violations.map((violation) => violation.field)]).toEqual([value, [path]]);
    }
  });

  it("a field may be null, which is unset", () => {
    expect(readJson(input, wrap(null)).violations).toEqual([]);
  });

  it("a field may be spelt as in the schema", () => {
    const snake = JSON.parse(JSON.stringify(wrap(null)).replace(`"${field.jsonName}":null`, `"${field.name}":7e99`));
    const { violations } = readJson(input, snake);
    const takesNumbers = field.message?.typeName === "google.protobuf.Value";
    expect(violations.map((violation) => violation.field)).toEqual(takesNumbers ? [] : [path]);
  });
});
