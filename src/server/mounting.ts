import { type FetchListener, fetchHandler } from "../binding/http/fetch-handler.js";
import type { HttpReply } from "../binding/http/http.js";
import { type HandlerOptions, type NodeListener, nodeListener } from "../binding/http/node-listener.js";
import { cardPaths } from "../card/endpoint.js";
import { basePathRule } from "../card/urls.js";
import { bindings } from "../protocol/bindings.js";
import { assertOptions, type Rule } from "../protocol/check/rules.js";
import { isObject } from "../protocol/kinds.js";
import { isAuthenticated } from "./authentication.js";
import type { ComposedAgent } from "./composition.js";
import { createHostGuard, guardEndpoint } from "./host-guard.js";
import type { KoaMiddleware } from "./koa/koa-middleware.js";
import { fetchRule, mountRule } from "./mount-rules.js";
import type { BaseServerOptions } from "./options.js";

/** Options of a mounted handler. */
export interface MountOptions {
  /**
   * The path where the handler is mounted, as callers see it: `/agents/weather`. Default: `basePath` of
   * `createAgent()`, else the path that the framework has removed, as Express, Connect and `koa-mount` report it.
   */
  readonly basePath?: string | undefined;
  /** Passed to `authenticate` as `caller.request`. Default: the request or context that the handler is called with. */
  readonly request?: unknown;
}

/** Options of a mounted Fetch handler. */
export interface FetchOptions extends MountOptions {
  /**
   * Returns the peer's address, if the runtime knows it. Limits by address (`rate.address`, `rate.failedAttempts`) need
   * it; without authentication it distinguishes callers. Default: unknown, and all calls count together.
   */
  readonly remoteAddress?: ((request: Request) => string | undefined) | undefined;
}

/** Handlers of an agent for existing servers. Each throws a `TypeError` for wrong options. */
export interface Handlers {
  /** Express, Connect and bare Node: `(req, res, next?)`. */
  nodeListener(options?: MountOptions): NodeListener;
  /** Bun, Deno, Next, Hono, workers: `(Request) => Promise<Response>`. */
  fetch(options?: FetchOptions): FetchListener;
  /** Koa, also below `koa-mount`. */
  koa(options?: MountOptions): Promise<KoaMiddleware>;
}

/** The handlers of a composed agent. */
export function createHandlers(agent: ComposedAgent, agentOptions: BaseServerOptions): Handlers {
  const { limits, service, logger } = agent;
  const times = { ...limits, clock: service.clock };
  const guard = createHostGuard(agentOptions);
  // With `trustProxy` the peer is a proxy, whose address does not identify callers.
  const isGuarded = !isAuthenticated(agentOptions) && (agentOptions.trustProxy ?? false) === false;
  const endpoint = isGuarded ? guardEndpoint(agent, guard, { isMounted: true }) : agent.endpoint;
  const loggedMessages = new Set<string>();
  const explain = (status: number, message: string): HttpReply => {
    if (!loggedMessages.has(message) && loggedMessages.size < loggedMax) {
      loggedMessages.add(message);
      logger.warn({}, message);
    }
    return {
      status,
      headers: { "Content-Type": "text/plain", "X-Content-Type-Options": "nosniff" },
      body: `${message}\n`,
    };
  };
  // Calls within the process are no reason to warn, so an agent under test does not.
  let isConfirmed = isAuthenticated(agentOptions) || agentOptions.anonymous === "shared";
  const readOptions = (entry: string, options: MountOptions): HandlerOptions => {
    if (!isConfirmed) logger.warn({}, allShare);
    isConfirmed = true;
    const { basePath = agentOptions.basePath, request } = options;
    const explainMiss = (path: string): HttpReply | undefined => {
      const prefix = findPrefix(path);
      return prefix === undefined ? undefined : explain(404, mountHint(entry, basePath, prefix));
    };
    return { times, basePath, request, explainMiss };
  };
  return {
    nodeListener(options = {}) {
      assertMount("nodeListener", options, mountRule);
      return nodeListener(endpoint, readOptions("nodeListener", options));
    },
    fetch(options = {}) {
      assertMount("fetch", options, fetchRule);
      const refuseUnmounted = (path: string): HttpReply | undefined =>
        agentOptions.publicUrl === undefined && path.startsWith("/.well-known/") ? explain(500, cutByHono) : undefined;
      return fetchHandler(endpoint, {
        ...readOptions("fetch", options),
        remoteAddress: options.remoteAddress,
        refuseUnmounted,
      });
    },
    async koa(options = {}) {
      assertMount("koa", options, mountRule);
      return (await import("./koa/koa-middleware.js")).koaMiddleware(endpoint, readOptions("koa", options));
    },
  };
}

const allShare =
  'all callers share all tasks: give `auth` or `authenticate`, or set `anonymous: "shared"` if that is intended';

function assertMount(entry: string, options: unknown, rule: Rule): void {
  // `app.use(agent.nodeListener)`: a request, or Koa's context, comes where options are wanted.
  if (isObject(options) && ("headers" in options || "req" in options)) {
    throw new TypeError(
      `${entry}() makes the handler: mount what it returns, \`agent.${entry}()\`, and not the method`,
    );
  }
  assertOptions(`${entry}()`, options, rule);
}

/** How many different explanations are logged. Paths come from callers. */
const loggedMax = 16;

const cutByHono =
  "Hono's mount() cuts the agent's path off the request, so the card cannot name it: use `honoAgent()` of trivium/hono, or give `basePath` to fetch()";

function mountHint(entry: string, basePath: string | undefined, prefix: string): string {
  const cause = `a request for the agent came below ${JSON.stringify(prefix)}`;
  const setting =
    basePath === undefined ? "it is mounted without a path" : `it is mounted at ${JSON.stringify(basePath)}`;
  return `${cause}, but ${setting}: mount it with \`${entry}({ basePath: ${JSON.stringify(prefix)} })\``;
}

const ownPaths = [...cardPaths, ...bindings.map(({ path }) => path)];

/** Finds the prefix of an agent's path, such as `/agents/a` in `/agents/a/json-rpc`; `undefined` if there is none. */
function findPrefix(path: string): string | undefined {
  const starts = ownPaths
    .flatMap((agentPath) => (agentPath === "" ? [] : [`${path}/`.indexOf(`${agentPath}/`)]))
    .filter((at) => at > 0);
  const prefix = starts.length === 0 ? "" : path.slice(0, Math.min(...starts));
  return basePathRule(prefix, "").length === 0 && prefix.length <= 200 ? prefix || undefined : undefined;
}
