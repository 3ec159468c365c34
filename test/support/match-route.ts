import type { Operation } from "../../src/protocol/operations.js";
import type { HttpRoute } from "../../src/version/codec.js";

/** A call as its route parses it. */
export interface MatchedCall {
  readonly operation: Operation;
  readonly fields: { readonly [field: string]: string };
  readonly query: URLSearchParams;
  readonly hasBody: boolean;
}

/** Finds the first route that matches a call such as `GET /tasks/t-1?historyLength=0`. */
export function matchRoute(routes: readonly HttpRoute[], call: string): MatchedCall {
  const [verb, url = ""] = call.split(" ");
  const [path = "", query] = url.split("?");
  for (const route of routes) {
    const fields = route.verb === verb ? fieldsOf(route, path) : undefined;
    if (fields === undefined) continue;
    return { operation: route.operation, fields, query: new URLSearchParams(query), hasBody: route.hasBody };
  }
  throw new Error(`no route for ${call}`);
}

function fieldsOf({ segments, suffix }: HttpRoute, path: string): { [field: string]: string } | undefined {
  if (!path.endsWith(suffix)) return undefined;
  const words = path.slice(1, path.length - suffix.length).split("/");
  if (words.length !== segments.length) return undefined;
  const fields: { [field: string]: string } = {};
  for (const [index, segment] of segments.entries()) {
    const word = words[index] ?? "";
    if ("field" in segment) fields[segment.field] = decodeURIComponent(word);
    else if (segment.literal !== word) return undefined;
  }
  return fields;
}
