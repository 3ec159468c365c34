import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { invalidParams } from "../../protocol/errors.js";
import type { Operation } from "../../protocol/operations.js";
import type { HttpJsonAdapter, HttpRoute } from "../../version/codec.js";

/** Where a request goes, split into target and body. */
export interface Address {
  readonly verb: string;
  /** Path and query below the interface URL. */
  readonly target: string;
  /** Body text, on a route that has a body. */
  readonly body: string | undefined;
}

/**
 * Returns the addresses of a request, best first: the routes whose paths take the most of its fields (so a tenant goes
 * into the path). Alternatives with another verb come last.
 */
export function listAddresses(adapter: HttpJsonAdapter, operation: Operation, request: JsonObject): Address[] {
  const routes = adapter.routes.filter((route) => route.operation.name === operation.name);
  const filledRoutes = routes.filter((route) => listFields(route).every((field) => isFilled(request[field])));
  const [first] = filledRoutes;
  if (first === undefined) throw missingFields(routes[0], request);
  const longest = Math.max(...filledRoutes.map(({ segments }) => segments.length));
  const longestRoutes = filledRoutes.filter(({ segments }) => segments.length === longest);
  const ordered = [
    ...longestRoutes.filter(({ verb }) => verb === first.verb),
    ...longestRoutes.filter(({ verb }) => verb !== first.verb),
  ];
  return ordered.map((route) => buildAddress(adapter, route, request));
}

function listFields({ segments }: HttpRoute): readonly string[] {
  return segments.flatMap((segment) => ("field" in segment ? [segment.field] : []));
}

function isFilled(value: JsonValue | undefined): value is string {
  return typeof value === "string" && value !== "";
}

function missingFields(route: HttpRoute | undefined, request: JsonObject): Error {
  const emptyFields = route === undefined ? [] : listFields(route).filter((field) => !isFilled(request[field]));
  return invalidParams(...emptyFields.map((field) => ({ field, description: "must not be empty" })));
}

function buildAddress(adapter: HttpJsonAdapter, route: HttpRoute, request: JsonObject): Address {
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
