import { addressPolicy } from "../binding/fetch/address-policy.js";
import { createOriginCheck } from "../binding/http/cors.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "../binding/http/http.js";
import { cardPaths } from "../card/endpoint.js";
import { hostForm } from "../card/urls.js";
import { A2AError } from "../protocol/errors.js";
import { isLoopback } from "../protocol/loopback.js";
import type { ComposedAgent } from "./composition.js";
import { createEndpoint } from "./endpoint.js";
import type { BaseServerOptions } from "./options.js";

// A loopback port is also reachable from web pages in a browser on this machine. With DNS rebinding (a page's host name
// resolving to 127.0.0.1) such a page is even same-origin. It cannot choose the Host and Origin headers that the
// browser sends.

/** Why a request is refused. */
interface HostRefusal {
  /** HTTP status; bindings answer `permissionDenied`. */
  readonly status: 421 | 403;
  readonly error: A2AError;
}

type Caller = Pick<HttpRequest, "header">;

/** Checks a request by its headers: `host` (`:authority` in HTTP/2) and `origin`. */
export interface HostGuard {
  http(caller: Caller): HostRefusal | undefined;
  /** gRPC: sidecars may send any authority, and no page can call it, so only calls with an Origin are checked. */
  grpc(caller: Caller): HostRefusal | undefined;
}

/** Guards an agent that only this machine reaches. Throws a `TypeError` for invalid host names in `allowedHosts`. */
export function createHostGuard({ publicUrl, cors, allowedHosts = [] }: BaseServerOptions): HostGuard {
  const allowList = allowedHosts.length === 0 ? undefined : addressPolicy(allowedHosts, "allowedHosts");
  const publicBase = URL.parse(publicUrl ?? "");
  const listsOrigin = cors === undefined ? () => false : createOriginCheck(cors);
  const allowsHost = (host: string): boolean => {
    const name = hostForm.test(host) ? URL.parse(`http://${host}`)?.hostname : undefined;
    if (name === undefined) return false;
    return isLoopback(name) || name === publicBase?.hostname || allowList?.host(name) === "allowed";
  };
  const allowsOrigin = (origin: string, host: string): boolean => {
    if (origin === publicBase?.origin || listsOrigin(origin)) return true;
    const { protocol = "", host: pageHost } = URL.parse(origin) ?? {};
    return /^https?:$/.test(protocol) && URL.parse(`${protocol}//${host}`)?.host === pageHost;
  };
  // Most requests name the same host as the previous one.
  let lastHost: string | undefined;
  const http: HostGuard["http"] = (caller) => {
    const host = caller.header("host") ?? "";
    if (host !== lastHost) {
      if (!allowsHost(host)) return foreignHost(host);
      lastHost = host;
    }
    const origin = caller.header("origin");
    return origin === undefined || allowsOrigin(origin, host) ? undefined : foreignOrigin(origin);
  };
  return { http, grpc: (caller) => (caller.header("origin") === undefined ? undefined : http(caller)) };
}

function foreignHost(host: string): HostRefusal {
  const message = `the host ${quote(host)} is not served, only loopback names, the host of \`publicUrl\` and \`allowedHosts\``;
  return { status: 421, error: new A2AError("permissionDenied", message) };
}

function foreignOrigin(origin: string): HostRefusal {
  const message = `pages of the origin ${quote(origin)} may not call, only the agent's own and those that \`cors\` lists`;
  return { status: 403, error: new A2AError("permissionDenied", message) };
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** Where a guarded agent is. */
interface GuardedPlace {
  readonly basePath?: string | undefined;
  /**
   * Whether it is mounted in another server: then only callers on this machine are checked, and requests that are not for
   * the agent pass. Default: false, every request on its port is checked.
   */
  readonly isMounted?: boolean | undefined;
}

/** Answers refused requests in the form of the called binding, and passes the others to the agent. */
export function guardEndpoint(
  agent: ComposedAgent,
  guard: HostGuard,
  { basePath, isMounted = false }: GuardedPlace,
): HttpEndpoint {
  const isChecked = isMounted ? isFromThisMachine : (request: HttpRequest) => !isHealthCheck(request);
  let refuseAll: HttpEndpoint | undefined;
  return (request) => {
    const refusal = isChecked(request) ? guard.http(request) : undefined;
    if (refusal === undefined) return agent.endpoint(request);
    refuseAll ??= createRefusingEndpoint(agent, guard, basePath);
    return refuse(refuseAll, request, refusal, isMounted);
  };
}

function isFromThisMachine({ remoteAddress }: HttpRequest): boolean {
  return remoteAddress !== undefined && isLoopback(remoteAddress);
}

/** Refuses requests that reach no agent, and passes the others to what comes behind the agents. */
export function guardUnrouted(guard: HostGuard): HttpEndpoint {
  return (request) => {
    const refusal = isHealthCheck(request) ? undefined : guard.http(request);
    if (refusal === undefined) return undefined;
    return refusalText(refusal);
  };
}

/** Whether the server itself answers: below a path of an agent the same names are those of the program's app. */
function isHealthCheck({ method, path, mountPath }: HttpRequest): boolean {
  return (method === "GET" || method === "HEAD") && mountPath === "" && healthPaths.has(path);
}

/** The bindings with an `authenticate` that refuses every caller. */
function createRefusingEndpoint(
  { servedBindings: bindings, versions, service }: ComposedAgent,
  guard: HostGuard,
  basePath: string | undefined,
): HttpEndpoint {
  const authenticate: typeof service.authenticate = (caller) => {
    throw guard.http(caller)?.error ?? new A2AError("permissionDenied", "the request is refused");
  };
  const card: HttpEndpoint = (request) => {
    const refusal = cardPaths.includes(request.path) ? guard.http(request) : undefined;
    return refusal && refusalText(refusal);
  };
  return createEndpoint({ basePath }, { bindings, versions, service: { ...service, authenticate }, card });
}

/** `undefined` for a request that is not for the mounted agent, which must not refuse it. */
async function refuse(
  refuseAll: HttpEndpoint,
  request: HttpRequest,
  refusal: HostRefusal,
  isMounted: boolean,
): Promise<HttpReply | undefined> {
  const reply = await refuseAll(request);
  if (reply === undefined) return isMounted ? undefined : refusalText(refusal);
  if (reply.status === 403) return { ...reply, status: refusal.status };
  // These protocols report the status in the body.
  if (/^application\/(?:grpc-web|connect)\b/.test(reply.headers["content-type"] ?? "")) return reply;
  return refusalText(refusal);
}

function refusalText({ status, error }: HostRefusal): HttpReply {
  return { status, headers: { "Content-Type": "text/plain" }, body: `${error.message}\n` };
}
