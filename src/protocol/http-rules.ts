import { getOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import type { Operation } from "./operations.js";

// The routes of HTTP+JSON, read from the `google.api.http` options of the service (spec 1.3).

export const httpVerbs = ["GET", "POST", "PUT", "DELETE", "PATCH"] as const;

/** One route of HTTP+JSON. A segment is a literal, or the JSON name of the field that it fills. */
export interface HttpRoute {
  readonly verb: (typeof httpVerbs)[number];
  readonly segments: readonly ({ readonly literal: string } | { readonly field: string })[];
  /** `:cancel` and the like, kept outside of the last segment's value. `""` when there is none. */
  readonly suffix: string;
  readonly operation: Operation;
  /** True when the request comes as a body, false when as query parameters. */
  readonly hasBody: boolean;
}

/**
 * Every route of some operations, in order of precedence: without a tenant before with one, and a route with a suffix
 * before one whose last segment would swallow it.
 */
export function httpRoutes(operations: readonly Operation[]): readonly HttpRoute[] {
  const routes = operations.flatMap((operation) => {
    const rule = getOption(operation.descriptor, http);
    return [rule, ...rule.additionalBindings].map((binding) => routeFromRule(operation, binding));
  });
  return sortRoutes(routes);
}

/** Puts routes in order of precedence; routes of equal rank keep theirs. */
export function sortRoutes(routes: readonly HttpRoute[]): readonly HttpRoute[] {
  return routes.toSorted((a, b) => rank(a) - rank(b));
}

function rank({ segments, suffix }: HttpRoute): number {
  const [first] = segments;
  const isTenanted = first !== undefined && "field" in first;
  return (isTenanted ? 2 : 0) + (suffix === "" ? 1 : 0);
}

function routeFromRule(operation: Operation, rule: HttpRule): HttpRoute {
  const { pattern, body } = rule;
  const verb = httpVerbs.find((word) => word.toLowerCase() === pattern.case);
  if (verb === undefined || typeof pattern.value !== "string" || (body !== "" && body !== "*")) {
    throw new TypeError(`${operation.method} has an HTTP rule of an unknown form`);
  }
  const [, path = "", suffix = ""] = /^\/(.*?)(:[^/{}]+)?$/.exec(pattern.value) ?? [];
  const segments = path.split("/").map((segment) => segmentOf(operation, segment));
  return { verb, segments, suffix, operation, hasBody: body === "*" };
}

function segmentOf(operation: Operation, segment: string): HttpRoute["segments"][number] {
  const variable = /^\{(\w+)(?:=\*)?\}$/.exec(segment)?.[1];
  if (variable === undefined) return { literal: segment };
  const field = operation.input.fields.find(({ name }) => name === variable);
  if (field === undefined) throw new TypeError(`${operation.method} has no field ${variable}`);
  return { field: field.jsonName };
}
