// Entry `trivium/hono`: mounts an agent in Hono 4.

import { firstSegments } from "../binding/http/mount.js";
import { assertOptions } from "../protocol/check/rules.js";
import { isObject } from "../protocol/kinds.js";
import { routeRule } from "../server/mount-rules.js";
import type { FetchOptions } from "../server/mounting.js";
import { type AgentSource, createAgentLoader } from "./source.js";

export type { FetchOptions } from "../server/mounting.js";
export type { AgentSource } from "./source.js";

/** The part of Hono's context that the handler uses. */
export interface HonoCall {
  /** The request, and the route that matched it. */
  readonly req: { readonly raw: Request; readonly routePath: string };
  /** Passed by the runtime with the request: the connection by Node's adapter, the peer by Deno, the server by Bun. */
  readonly env?: unknown;
}

/**
 * Creates a handler for Hono 4, also in an app that is mounted in another one. Default of `basePath`: the route without
 * its `/*`. Default of `remoteAddress`: the peer's address in Node, Deno and Bun. Throws a `TypeError` for wrong
 * options.
 *
 * @example
 * ```ts
 * const app = new Hono();
 * app.all("/agents/weather/*", honoAgent(createAgent({ card, agent })));
 * ```
 */
export function honoAgent(
  agent: AgentSource,
  options: Omit<FetchOptions, "request"> = {},
): (context: HonoCall) => Promise<Response> {
  assertOptions("honoAgent()", options, routeRule);
  const loadAgent = createAgentLoader("honoAgent()", agent);
  return async (context) => {
    const { raw, routePath } = context.req;
    const mountedAgent = await loadAgent();
    const basePath = firstSegments(new URL(raw.url).pathname, routePath.replace(/\/?\*$/, ""));
    const remoteAddress = (): string | undefined => findPeer(context.env, raw);
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

function findPeer(env: unknown, request: Request): string | undefined {
  if (!isObject(env)) return undefined;
  const { incoming, remoteAddr, server = env } = env as RuntimeEnvironment;
  return (
    incoming?.socket?.remoteAddress ??
    remoteAddr?.hostname ??
    (server as RuntimeEnvironment).requestIP?.(request)?.address
  );
}
