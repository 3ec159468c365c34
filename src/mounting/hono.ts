// Entry `trivium/hono`: mounts an agent in Hono 4.
import { firstSegments } from "../binding/http/mount-path.js";
import { assertOptions } from "../protocol/check/rules.js";
import { routeRule } from "../server/mount-rules.js";
import type { FetchOptions } from "../server/mounting.js";
import { type AgentSource, agentOf } from "./source.js";

export type { FetchOptions } from "../server/mounting.js";
export type { AgentSource } from "./source.js";

/** What the handler uses of Hono's context. */
export interface HonoCall {
  /** The request, and the route that matched it. */
  readonly req: { readonly raw: Request; readonly routePath: string };
}

/**
 * A Hono handler: `app.all("/agents/weather/*", honoAgent(createAgent(…)))`. The path is that of the route, also in an
 * app below another one. Default of `basePath`: the route without its `/*`.
 */
export function honoAgent(
  agent: AgentSource,
  options: Omit<FetchOptions, "request"> = {},
): (context: HonoCall) => Promise<Response> {
  assertOptions("honoAgent()", options, routeRule);
  const loadAgent = agentOf("honoAgent()", agent);
  return async (context) => {
    const { raw, routePath } = context.req;
    const mountedAgent = await loadAgent();
    const basePath = firstSegments(new URL(raw.url).pathname, routePath.replace(/\/?\*$/, ""));
    return mountedAgent.fetch({ basePath, ...options, request: context })(raw);
  };
}
