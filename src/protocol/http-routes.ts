import { BinaryReader } from "@bufbuild/protobuf/wire";
import { httpOption } from "./codec/outline/outline.js";
import type { Operation } from "./operations.js";

// The HTTP+JSON routes, read from the service's `google.api.http` options (spec 1.3).

const httpVerbs = ["GET", "POST", "PUT", "DELETE", "PATCH"] as const;

/** One HTTP+JSON route. A segment is a literal, or the JSON name of the field it fills. */
export interface HttpRoute {
  readonly verb: (typeof httpVerbs)[number];
  readonly segments: readonly ({ readonly literal: string } | { readonly field: string })[];
  /** A suffix such as `:cancel`, kept apart from the last segment's value. `""` if there is none. */
  readonly suffix: string;
  readonly operation: Operation;
  /** Whether the request is sent as a body; otherwise as query parameters. */
  readonly hasBody: boolean;
}

/** A URL or path without trailing slashes. The look-behind keeps it linear: other agents write some of these URLs. */
export function trimSlashes(path: string): string {
  return path.replace(/(?<!\/)\/+$/, "");
}

/**
 * Returns all routes of the given operations in order of precedence: without a tenant before with one, and a route with
 * a suffix before one whose last segment would swallow it.
 */
export function httpRoutes(operations: readonly Operation[]): readonly HttpRoute[] {
  const routes = operations.flatMap((operation) => {
    const option = operation.descriptor.proto.options?.$unknown?.find(({ no }) => no === httpOption);
    if (option === undefined) throw new TypeError(`${operation.method} has no HTTP rule`);
    return readRule(new BinaryReader(option.data).bytes()).map((rule) => routeFromRule(operation, rule));
  });
  return sortRoutes(routes);
}

/** Sorts routes by precedence. The sort is stable. */
export function sortRoutes(routes: readonly HttpRoute[]): readonly HttpRoute[] {
  return routes.toSorted((a, b) => rank(a) - rank(b));
}

function rank({ segments, suffix }: HttpRoute): number {
  const [first] = segments;
  const isTenanted = first !== undefined && "field" in first;
  return (isTenanted ? 2 : 0) + (suffix === "" ? 1 : 0);
}

/** The parts of a `google.api.HttpRule` that are used. */
interface HttpRule {
  readonly verb: (typeof httpVerbs)[number] | undefined;
  readonly path: string;
  readonly body: string;
}

// Field numbers. Those of the verbs are in the order of `httpVerbs`.
const ruleFields = { verbs: [2, 4, 3, 5, 6], body: 7, additional: 11 };

/** Reads a rule and its additional bindings. */
function readRule(bytes: Uint8Array): HttpRule[] {
  const reader = new BinaryReader(bytes);
  const additional: HttpRule[] = [];
  let rule: HttpRule = { verb: undefined, path: "", body: "" };
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const verb = httpVerbs[ruleFields.verbs.indexOf(number)];
    if (verb !== undefined) rule = { ...rule, verb, path: reader.string() };
    else if (number === ruleFields.body) rule = { ...rule, body: reader.string() };
    else if (number === ruleFields.additional) additional.push(...readRule(reader.bytes()));
    else reader.skip(wireType, number);
  }
  return [rule, ...additional];
}

function routeFromRule(operation: Operation, rule: HttpRule): HttpRoute {
  const { verb, body } = rule;
  if (verb === undefined || (body !== "" && body !== "*")) {
    throw new TypeError(`${operation.method} has an HTTP rule of an unknown form`);
  }
  const [, path = "", suffix = ""] = /^\/(.*?)(:[^/{}]+)?$/.exec(rule.path) ?? [];
  const segments = path.split("/").map((segment) => readSegment(operation, segment));
  return { verb, segments, suffix, operation, hasBody: body === "*" };
}

function readSegment(operation: Operation, segment: string): HttpRoute["segments"][number] {
  const variable = /^\{(\w+)(?:=\*)?\}$/.exec(segment)?.[1];
  if (variable === undefined) return { literal: segment };
  const field = operation.input.fields.find(({ name }) => name === variable);
  if (field === undefined) throw new TypeError(`${operation.method} has no field ${variable}`);
  return { field: field.jsonName };
}
