import { type DescField, type DescMessage, type JsonObject, type JsonValue, ScalarType } from "@bufbuild/protobuf";

// Requests as query parameters (spec 6.4): names as in JSON, a list by repeating the name or with commas.

/**
 * Turns query parameters into the JSON that the reader takes. What fits no field is left out; what fits its field badly,
 * a name given twice too, is left as it is, so that the reader names it together with everything else.
 */
export function queryToJson(desc: DescMessage, query: URLSearchParams): JsonObject {
  const json: JsonObject = {};
  for (const field of desc.fields) {
    const values = query.getAll(field.jsonName);
    if (values.length > 0) json[field.jsonName] = jsonOf(field, values);
  }
  return json;
}

function jsonOf(field: DescField, values: readonly string[]): JsonValue {
  const convert = field.scalar === ScalarType.BOOL ? boolOf : String;
  if (field.fieldKind === "list") return values.flatMap((value) => value.split(",")).map(convert);
  const [value, ...others] = values;
  return value === undefined || others.length > 0 ? [...values] : convert(value);
}

function boolOf(text: string): JsonValue {
  return text === "true" || (text === "false" ? false : text);
}

/** Turns the JSON of a request into query parameters. Throws `TypeError` for an object, which a query cannot hold. */
export function queryFromJson(json: JsonObject): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(json)) {
    for (const entry of Array.isArray(value) ? value : [value]) {
      if (typeof entry === "object" && entry !== null) throw new TypeError(`${name} has no form as a query parameter`);
      if (entry !== null) query.append(name, String(entry));
    }
  }
  return query;
}
