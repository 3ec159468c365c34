import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidParams } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import type { HttpJsonAdapter, HttpRoute } from "../../version/codec.js";

/** Where a request goes, and what of it goes where. */
export interface Address {
  readonly verb: string;
  /** Path and query below the URL of the interface. */
  readonly target: string;
  /** Text of the body, on a route that has one. */
  readonly body: string | undefined;
}

/**
 * The address of a request: the route of its operation that names most of what the request says (so a tenant goes into
 * the path), and behind it those that lead there by another verb.
 */
export function addressesOf(adapter: HttpJsonAdapter, operation: Operation, request: JsonObject): Address[] {
  const routes = adapter.routes.filter((route) => route.operation.name === operation.name);
  const fitting = routes.filter((route) => fieldsOf(route).every((field) => isFilled(request[field])));
  const [first] = fitting;
  if (first === undefined) throw missingFields(routes[0], request);
  const longest = Math.max(...fitting.map(({ segments }) => segments.length));
  const chosen = fitting.filter(({ segments }) => segments.length === longest);
  const ordered = [
    ...chosen.filter(({ verb }) => verb === first.verb),
    ...chosen.filter(({ verb }) => verb !== first.verb),
  ];
  return ordered.map((route) => addressOf(adapter, route, request));
}

function fieldsOf({ segments }: HttpRoute): readonly string[] {
  return segments.flatMap((segment) => ("field" in segment ? [segment.field] : []));
}

function isFilled(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}

function missingFields(route: HttpRoute | undefined, request: JsonObject): Error {
  const missing = route === undefined ? [] : fieldsOf(route).filter((field) => !isFilled(request[field]));
  return invalidParams(...missing.map((field) => ({ field, description: "must not be empty" })));
}

function addressOf(adapter: HttpJsonAdapter, route: HttpRoute, request: JsonObject): Address {
  const rest: JsonObject = { ...request };
  const path = route.segments.map((segment) => {
    if ("literal" in segment) return segment.literal;
    const value = rest[segment.field];
    delete rest[segment.field];
    return encodeURIComponent(String(value));
  });
  const plain = `/${path.join("/")}${route.suffix}`;
  if (route.hasBody) return { verb: route.verb, target: plain, body: JSON.stringify(rest) };
  const query = adapter.writeQuery(route.operation, rest).toString();
  return { verb: route.verb, target: query === "" ? plain : `${plain}?${query}`, body: undefined };
}
