// Entry `trivium/next`: an agent as a route of the Next.js App Router.
import { assertOptions } from "../protocol/check/rules.js";
import { routeRule } from "../server/mount-rules.js";
import type { FetchOptions } from "../server/mounting.js";
import { type AgentSource, createAgentLoader } from "./source.js";

export type { FetchOptions } from "../server/mounting.js";
export type { AgentSource } from "./source.js";

/** The second argument of a route handler in Next. */
export interface NextRouteContext {
  /**
   * Route parameters. The segments below the route are under the name of the optional catch-all: `path` for
   * `[[...path]]`.
   */
  readonly params: Promise<Readonly<Record<string, string | readonly string[] | undefined>>>;
}

/** A route handler of the App Router. */
export type NextHandler = (request: Request, context: NextRouteContext) => Promise<Response>;

/** The methods that an agent answers. */
export type NextMethod = "GET" | "POST" | "DELETE" | "HEAD" | "OPTIONS";

/**
 * Creates the route handlers of an agent for the Next.js App Router. Pass a function, because `next build` loads the
 * file and should open no store. Default of `basePath`: the path of the route. If the app's configuration has a
 * `basePath`, include it, since Next does not report it: `{ basePath: "/shop/agents/weather" }`. Throws a `TypeError`
 * for wrong options.
 *
 * @example
 * ```ts
 * // app/agents/weather/[[...path]]/route.ts
 * export const { GET, POST, DELETE, HEAD, OPTIONS } = nextRoute(() => createAgent({ card, agent }));
 * ```
 */
export function nextRoute(
  agent: AgentSource,
  options: Omit<FetchOptions, "request"> = {},
): Readonly<Record<NextMethod, NextHandler>> {
  assertOptions("nextRoute()", options, routeRule);
  const loadAgent = createAgentLoader("nextRoute()", agent);
  const answer: NextHandler = async (request, { params }) => {
    const mountedAgent = await loadAgent();
    const url = new URL(request.url);
    const route = findRoute(url.pathname, await params);
    const { basePath = route } = options;
    return mountedAgent.fetch({ ...options, basePath, request })(withPath(request, url, route, basePath));
  };
  return { GET: answer, POST: answer, DELETE: answer, HEAD: answer, OPTIONS: answer };
}

/** The request with the path as callers see it. Next cuts `basePath` of its configuration off, and does not pass it on. */
function withPath(request: Request, url: URL, route: string, basePath: string): Request {
  if (route === basePath) return request;
  url.pathname = basePath + url.pathname.slice(route.length);
  return new Request(url, request);
}

/** The path of the route: all but the segments that its catch-all matched. */
function findRoute(path: string, params: Awaited<NextRouteContext["params"]>): string {
  const rest = Object.values(params).find((value) => Array.isArray(value)) ?? [];
  const segments = path.split("/").filter((segment) => segment !== "");
  return segments
    .slice(0, segments.length - rest.length)
    .map((segment) => `/${segment}`)
    .join("");
}
