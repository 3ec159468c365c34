import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type FieldViolation, invalidParams } from "../../protocol/errors.js";
import { versionParameter } from "../../protocol/service-parameters.js";
import { parseQuery, type RouteMatch } from "./router.js";

// An HTTP+JSON request has its fields in up to three places: path, query and body. Contradictions are refused, since
// they could bypass filters by path.

/** Reads the request of a route without a body. */
export function readQueryRequest({ adapter, route, fields }: RouteMatch, query: string): JsonObject {
  const parameters = parseQuery(query);
  for (const name of [...parameters.keys()]) {
    if (name.toLowerCase() === versionParameter) parameters.delete(name);
  }
  const violations: FieldViolation[] = [];
  for (const [field, value] of fields) {
    if (parameters.getAll(field).some((other) => other !== value)) violations.push(differs(field));
    parameters.set(field, value);
  }
  if (violations.length > 0) throw invalidParams(...violations);
  return adapter.readQuery(route.operation, parameters);
}

/** Reads the request of a route with a body. `body` is `undefined` if empty. */
export function readBodyRequest(match: RouteMatch, query: string, body: JsonValue | undefined): JsonValue {
  const json = body ?? {};
  if (typeof json !== "object" || Array.isArray(json)) return json;
  const violations: FieldViolation[] = [];
  for (const [field, value] of collectFields(match, query, violations)) {
    if (!matchesField(json, field, value)) violations.push(differs(field));
    json[field] = value;
  }
  if (violations.length > 0) throw invalidParams(...violations);
  return json;
}

/** Collects the path fields that the path and the query give. */
function collectFields({ adapter, route, fields }: RouteMatch, query: string, violations: FieldViolation[]) {
  if (query === "") return fields;
  const values = new Map(fields);
  const parameters = parseQuery(query);
  for (const name of pathFields(adapter.routes, route.operation)) {
    for (const value of parameters.getAll(name)) {
      if ((values.get(name) ?? value) !== value) violations.push(differs(name));
      values.set(name, value);
    }
  }
  return values;
}

/** The fields that any route of the operation takes from its path. They may also be in the query. */
function pathFields(routes: RouteMatch["adapter"]["routes"], operation: RouteMatch["route"]["operation"]): Set<string> {
  const operationRoutes = routes.filter((route) => route.operation === operation);
  return new Set(
    operationRoutes.flatMap(({ segments }) =>
      segments.flatMap((segment) => ("field" in segment ? [segment.field] : [])),
    ),
  );
}

/**
 * Whether the body's values of a field equal `value` or are missing. Removes the field's snake_case spelling from the
 * body.
 */
function matchesField(json: JsonObject, field: string, value: string): boolean {
  const snake = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const others = [json[field], snake === field ? undefined : json[snake]];
  if (snake !== field) delete json[snake];
  return others.every((other) => other === undefined || other === null || other === "" || other === value);
}

function differs(field: string): FieldViolation {
  return { field, description: "is given in more than one place, with different values" };
}
