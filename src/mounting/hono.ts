// Entry `trivium/hono`: mounts an agent in Hono 4.

import { firstSegments } from "../binding/http/mount.js";
import { assertOptions } from "../protocol/check/rules.js";
import { isObject } from "../protocol/kinds.js";
import { routeRule } from "../server/mount-rules.js";
import type { FetchOptions } from "../server/mounting.js";
import { type AgentSource, agentOf } from "./source.js";

export type { FetchOptions } from "../server/mounting.js";
export type { AgentSource } from "./source.js";

/** The part of Hono's context that the handler uses. */
export interface HonoCall {
  /** The request, and the route that matched it. */
  readonly req: { readonly raw: Request; readonly routePath: string };
  /** What the runtime passes with the request: the connection from Node's adapter, the peer from Deno, Bun's server. */
  readonly env?: unknown;
}

/**
 * A Hono handler: `app.all("/agents/weather/*", honoAgent(createAgent(…)))`. The path is that of the route, also in an
 * app below another one. Default of `basePath`: the route without its `/*`. Default of `remoteAddress`: the peer's
 * address in Node, Deno and Bun.
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
    const remoteAddress = (): string | undefined => peerOf(context.env, raw);
    return mountedAgent.fetch({ basePath, remoteAddress, ...options, request: context })(raw);
  };
}

/** The `env` that runtimes pass to Hono. */
interface RuntimeEnvironment {
  /** Node, by `@hono/node-server`. */
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string | undefined } };
  /** Deno. */
  readonly remoteAddr?: { readonly hostname?: string };
  /** Bun passes its server, or an object that has it as `server`. */
  readonly requestIP?: (request: Request) => { readonly address: string } | null;
  readonly server?: Pick<RuntimeEnvironment, "requestIP">;
}

function peerOf(env: unknown, request: Request): string | undefined {
  if (!isObject(env)) return undefined;
  const { incoming, remoteAddr, server = env } = env as RuntimeEnvironment;
  return (
    incoming?.socket?.remoteAddress ??
    remoteAddr?.hostname ??
    (server as RuntimeEnvironment).requestIP?.(request)?.address
  );
}
