import { addressPolicy, isLoopback } from "../binding/fetch/address-policy.js";
import { createOriginCheck } from "../binding/http/cors.js";
import type { HttpEndpoint, HttpReply, HttpRequest } from "../binding/http/http.js";
import { hostForm } from "../card/urls.js";
import { A2AError } from "../protocol/errors.js";
import { createEndpoint } from "./endpoint.js";
import type { ComposedAgent } from "./host.js";
import type { HostOptions, ListenOptions } from "./options.js";

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

export type HostGuardOptions = Pick<HostOptions, "publicUrl" | "cors"> & Pick<ListenOptions, "allowedHosts">;

/** Creates the guard of a loopback port. Throws a `TypeError` for invalid host names in `allowedHosts`. */
export function createHostGuard({ publicUrl, cors, allowedHosts = [] }: HostGuardOptions): HostGuard {
  const listed = allowedHosts.length === 0 ? undefined : addressPolicy(allowedHosts, "allowedHosts");
  const outside = URL.parse(publicUrl ?? "");
  const listsOrigin = cors === undefined ? () => false : createOriginCheck(cors);
  const allowsHost = (host: string): boolean => {
    const name = hostForm.test(host) ? URL.parse(`http://${host}`)?.hostname : undefined;
    if (name === undefined) return false;
    return isLoopback(name) || name === outside?.hostname || listed?.host(name) === "allowed";
  };
  const allowsOrigin = (origin: string, host: string): boolean => {
    if (origin === outside?.origin || listsOrigin(origin)) return true;
    const { protocol = "", host: own } = URL.parse(origin) ?? {};
    return /^https?:$/.test(protocol) && URL.parse(`${protocol}//${host}`)?.host === own;
  };
  // Most requests name the same host as the previous one.
  let last: string | undefined;
  const http: HostGuard["http"] = (caller) => {
    const host = caller.header("host") ?? "";
    if (host !== last) {
      if (!allowsHost(host)) return foreignHost(host);
      last = host;
    }
    const origin = caller.header("origin");
    return origin === undefined || allowsOrigin(origin, host) ? undefined : foreignOrigin(origin);
  };
  return { http, grpc: (caller) => (caller.header("origin") === undefined ? undefined : http(caller)) };
}

function foreignHost(host: string): HostRefusal {
  const message = `the host ${quoted(host)} is not served, only loopback names, the host of \`publicUrl\` and \`allowedHosts\``;
  return { status: 421, error: new A2AError("permissionDenied", message) };
}

function foreignOrigin(origin: string): HostRefusal {
  const message = `pages of the origin ${quoted(origin)} may not call, only the agent's own and those that \`cors\` lists`;
  return { status: 403, error: new A2AError("permissionDenied", message) };
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}

const healthPaths: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** Answers refused requests in the form of the called binding, and passes the others to the agent. */
export function guardedEndpoint(
  agent: Pick<ComposedAgent, "endpoint" | "bindings" | "versions" | "service">,
  guard: HostGuard,
  { basePath }: Pick<HostOptions, "basePath">,
): HttpEndpoint {
  let refusing: HttpEndpoint | undefined;
  return (request) => {
    const refusal = guard.http(request);
    if (refusal === undefined || isHealthCheck(request)) return agent.endpoint(request);
    refusing ??= refusingEndpoint(agent, guard, basePath);
    return refused(refusing, request, refusal);
  };
}

/** Refuses requests that reach no agent, and passes the others to what comes behind the agents. */
export function guardedRest(guard: HostGuard): HttpEndpoint {
  return (request) => {
    const refusal = isHealthCheck(request) ? undefined : guard.http(request);
    if (refusal === undefined) return undefined;
    return { status: refusal.status, headers: { "Content-Type": "text/plain" }, body: `${refusal.error.message}\n` };
  };
}

function isHealthCheck({ method, path }: HttpRequest): boolean {
  return (method === "GET" || method === "HEAD") && healthPaths.has(path);
}

/** The bindings with an `authenticate` that refuses every caller. */
function refusingEndpoint(
  { bindings, versions, service }: Parameters<typeof guardedEndpoint>[0],
  guard: HostGuard,
  basePath: string | undefined,
): HttpEndpoint {
  const authenticate: typeof service.authenticate = (caller) => {
    throw guard.http(caller)?.error ?? new A2AError("permissionDenied", "the request is refused");
  };
  const card: HttpEndpoint = () => undefined;
  return createEndpoint({ basePath }, { bindings, versions, service: { ...service, authenticate }, card });
}

async function refused(
  refusing: HttpEndpoint,
  request: HttpRequest,
  { status, error }: HostRefusal,
): Promise<HttpReply> {
  const reply = await refusing(request);
  if (reply?.status === 403) return { ...reply, status };
  // These protocols report the status in the body.
  if (reply !== undefined && /^application\/(?:grpc-web|connect)\b/.test(reply.headers["content-type"] ?? ""))
    return reply;
  return { status, headers: { "Content-Type": "text/plain" }, body: `${error.message}\n` };
}
