import type { HttpJsonFace, HttpRoute } from "../../version/codec.js";
import { decodeEscapes } from "./escapes.js";

/** A route that fits a request, and what its path says. */
export interface RouteMatch {
  readonly face: HttpJsonFace;
  readonly route: HttpRoute;
  /** Fields that the path fills, by their JSON names. */
  readonly fields: ReadonlyMap<string, string>;
}

/** What the paths of the faces lead to. `allow`: the verbs of a path that the request's own verb does not fit. */
export type Routed = { readonly match: RouteMatch } | { readonly allow: readonly string[] };

export type Router = (verb: string, path: string, version: string | undefined) => Routed;

interface Entry {
  readonly face: HttpJsonFace;
  readonly route: HttpRoute;
  /** Suffixes that a last segment without one of its own must not end with: such a path is meant for another route. */
  readonly foreign: readonly string[];
}

/** Makes the router of some faces. It throws `invalidRequest` for a path with malformed escapes. */
export function createRouter(faces: readonly HttpJsonFace[]): Router {
  const byLength = new Map<number, Entry[]>();
  for (const face of faces) {
    const suffixes = [...new Set(face.routes.map(({ suffix }) => suffix))].filter((suffix) => suffix !== "");
    for (const route of face.routes) {
      const entries = byLength.get(route.segments.length) ?? [];
      entries.push({ face, route, foreign: route.suffix === "" ? suffixes : [] });
      byLength.set(route.segments.length, entries);
    }
  }
  return (verb, path, version) => {
    const raw = path.slice(1).split("/");
    const allow = new Set<string>();
    for (const entry of byLength.get(raw.length) ?? []) {
      if (version !== undefined && entry.face.version !== version) continue;
      const fields = matchSegments(entry, raw);
      if (fields === undefined) continue;
      if (entry.route.verb === verb) return { match: { face: entry.face, route: entry.route, fields } };
      allow.add(entry.route.verb);
    }
    return { allow: [...allow] };
  };
}

const noFields: ReadonlyMap<string, string> = new Map();

function matchSegments({ route, foreign }: Entry, raw: readonly string[]): ReadonlyMap<string, string> | undefined {
  const last = raw[raw.length - 1] ?? "";
  const { segments, suffix } = route;
  if (!last.endsWith(suffix)) return undefined;
  let fields: Map<string, string> | undefined;
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    const text = raw[index] ?? "";
    const value = decodeEscapes(isLast ? text.slice(0, text.length - suffix.length) : text, "path");
    if ("literal" in segment) {
      if (segment.literal !== value) return undefined;
      continue;
    }
    if (value === "" || (isLast && foreign.some((other) => text.endsWith(other)))) return undefined;
    fields ??= new Map();
    fields.set(segment.field, value);
  }
  return fields ?? noFields;
}
