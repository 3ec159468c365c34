import { A2AError } from "../../protocol/errors.js";
import type { HttpJsonAdapter, HttpRoute } from "../../version/codec.js";

/** A route that matches a request, with the fields from its path. */
export interface RouteMatch {
  readonly adapter: HttpJsonAdapter;
  readonly route: HttpRoute;
  /** Path fields by JSON name. */
  readonly fields: ReadonlyMap<string, string>;
}

/** The result of routing. `allow` lists the verbs of the path if the request's verb is not one of them. */
type RoutingResult = { readonly match: RouteMatch } | { readonly allow: readonly string[] };

/** Picks the adapters that may take a request, best first, given which of them know its path and verb. */
type PickAdapters = (hasRoute: (adapter: HttpJsonAdapter) => boolean) => readonly HttpJsonAdapter[];

export type Router = (verb: string, path: string, pick: PickAdapters) => RoutingResult;

interface Entry {
  readonly adapter: HttpJsonAdapter;
  readonly route: HttpRoute;
  /** Suffixes that the last field must not end with if the route has none: such a path belongs to another route. */
  readonly foreignSuffixes: readonly string[];
}

/** Creates a router for `adapters`. The router throws `invalidRequest` for malformed escapes in a path. */
export function createRouter(adapters: readonly HttpJsonAdapter[]): Router {
  const byLength = new Map<number, Entry[]>();
  for (const adapter of adapters) {
    const suffixes = [...new Set(adapter.routes.map(({ suffix }) => suffix))].filter((suffix) => suffix !== "");
    for (const route of adapter.routes) {
      const entries = byLength.get(route.segments.length) ?? [];
      entries.push({ adapter, route, foreignSuffixes: endsOpen(route) ? suffixes : [] });
      byLength.set(route.segments.length, entries);
    }
  }
  // Most literals first: one version's literal path may look like another's path with a tenant.
  for (const entries of byLength.values()) entries.sort((a, b) => countLiterals(b.route) - countLiterals(a.route));
  return (verb, path, pick) => {
    const parts = path.slice(1).split("/");
    const matches: RouteMatch[] = [];
    const others: RouteMatch[] = [];
    for (const { route, adapter, foreignSuffixes } of byLength.get(parts.length) ?? []) {
      const fields = matchSegments({ route, adapter, foreignSuffixes }, parts);
      if (fields !== undefined) (route.verb === verb ? matches : others).push({ adapter, route, fields });
    }
    if (matches.length === 0) {
      const candidates = pick((adapter) => others.some((other) => other.adapter === adapter));
      return {
        allow: [
          ...new Set(others.filter(({ adapter }) => candidates.includes(adapter)).map(({ route }) => route.verb)),
        ],
      };
    }
    const candidates = pick((adapter) => matches.some((match) => match.adapter === adapter));
    const match = matches.find(({ adapter }) => candidates.includes(adapter));
    return match === undefined ? { allow: [] } : { match };
  };
}

function countLiterals({ segments }: HttpRoute): number {
  return segments.filter((segment) => "literal" in segment).length;
}

function endsOpen({ segments, suffix }: HttpRoute): boolean {
  const last = segments.at(-1);
  return suffix === "" && last !== undefined && "field" in last;
}

const noFields: ReadonlyMap<string, string> = new Map();

function matchSegments(
  { route, foreignSuffixes }: Entry,
  parts: readonly string[],
): ReadonlyMap<string, string> | undefined {
  const last = parts[parts.length - 1] ?? "";
  const { segments, suffix } = route;
  if (!last.endsWith(suffix)) return undefined;
  let fields: Map<string, string> | undefined;
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    const text = parts[index] ?? "";
    const value = decodeEscapes(isLast ? text.slice(0, text.length - suffix.length) : text, "path");
    if (!matchesSegment(segment, value)) return undefined;
    if ("literal" in segment) continue;
    fields ??= new Map();
    fields.set(segment.field, value);
  }
  return foreignSuffixes.some((other) => last.endsWith(other)) ? undefined : (fields ?? noFields);
}

function matchesSegment(segment: HttpRoute["segments"][number], value: string): boolean {
  return "literal" in segment ? segment.literal === value : value !== "";
}

/**
 * Decodes percent escapes. Throws `invalidRequest` if they are malformed or not UTF-8: lenient decoding would
 * substitute characters and look up something else.
 */
function decodeEscapes(text: string, where: "path" | "query"): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new A2AError("invalidRequest", `the ${where} holds a malformed percent escape`, { cause });
  }
}

export function parseQuery(query: string): URLSearchParams {
  decodeEscapes(query, "query");
  return new URLSearchParams(query);
}
