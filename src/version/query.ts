import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { isObject } from "../protocol/kinds.js";

// Requests as query parameters (spec 6.4): names as in JSON, lists as repeated or comma-separated values.

/**
 * Turns query parameters into the JSON that the reader takes. Drops parameters that match no field. Leaves invalid
 * values and repeated names as they are, so that the reader reports them with all other errors.
 */
export function queryToJson(desc: DescMessage, query: URLSearchParams): JsonObject {
  const json: JsonObject = {};
  for (const field of desc.fields) {
    const values = query.getAll(field.jsonName);
    if (values.length > 0) json[field.jsonName] = valuesToJson(field, values);
  }
  return json;
}

function valuesToJson(field: DescField, values: readonly string[]): JsonValue {
  const convert = field.scalar === ScalarType.BOOL ? readBool : String;
  if (field.fieldKind === "list") return values.flatMap((value) => value.split(",")).map(convert);
  const [value, ...more] = values;
  return value === undefined || more.length > 0 ? [...values] : convert(value);
}

function readBool(text: string): JsonValue {
  return text === "true" || (text === "false" ? false : text);
}

/** Turns the JSON of a request into query parameters. Throws a `TypeError` for an object, which has no query form. */
export function queryFromJson(json: JsonObject): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(json)) {
    for (const entry of Array.isArray(value) ? value : [value]) {
      if (isObject(entry)) throw new TypeError(`${name} has no form as a query parameter`);
      if (entry !== null) query.append(name, String(entry));
    }
  }
  return query;
}
