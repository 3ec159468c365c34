import { requestIdHeader } from "../request-id.js";
import type { HttpEndpoint, HttpReply } from "./http.js";

/** Which pages of other origins may call, and which headers they may send and read. */
export interface CorsOptions {
  /**
   * Origins whose pages may call: `https://host[:port]`, or `https://*.example.org` for every host below a name. `"*"`
   * allows any.
   */
  readonly origins: readonly string[] | "*";
  /**
   * Additional request headers that pages may send, such as that of an API key; `X-API-Key` is always allowed. Default:
   * none.
   */
  readonly allowHeaders?: readonly string[] | undefined;
  /** Additional reply headers that pages may read. Default: none. */
  readonly exposeHeaders?: readonly string[] | undefined;
  /** Whether pages may send cookies; not with `"*"`. Default: false. */
  readonly credentials?: boolean | undefined;
  /** How long a browser may cache a preflight, in seconds. Default: 3,600. */
  readonly maxAgeSeconds?: number | undefined;
}

// The last line of each list is for Connect and gRPC-Web. `Content-Encoding`: a client that cannot see it takes the
// compressed length for the length of the decoded body.
const requestHeaders = [
  ...["Authorization", "X-API-Key", "Content-Type", "Accept", "Last-Event-ID", "If-None-Match"],
  ...["A2A-Version", "A2A-Extensions", "X-A2A-Extensions", requestIdHeader],
  ...["Connect-Protocol-Version", "Connect-Timeout-Ms", "Grpc-Timeout", "X-Grpc-Web", "X-User-Agent"],
];
const replyHeaders = [
  ...["A2A-Extensions", "X-A2A-Extensions", "WWW-Authenticate", "ETag", "Retry-After", "Content-Encoding"],
  ...["RateLimit", "RateLimit-Policy"],
  requestIdHeader,
  ...["Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"],
];
const methods = "GET, POST, DELETE";

/**
 * Lets pages of other origins call an endpoint (CORS, Fetch standard). Throws a `TypeError` for options that no browser
 * honours.
 */
export function cors(endpoint: HttpEndpoint, options: CorsOptions): HttpEndpoint {
  const policy = resolvePolicy(options);
  return (request) => {
    const origin = request.header("origin");
    if (origin === undefined) return withVary(endpoint(request), policy);
    const allowed = policy.allows(origin);
    if (request.method === "OPTIONS" && request.header("access-control-request-method") !== undefined) {
      return preflight(policy, allowed ? origin : undefined);
    }
    const reply = endpoint(request);
    return allowed ? withOrigin(reply, policy, origin) : withVary(reply, policy);
  };
}

/** Returns the check whether the options allow an origin. Throws as `cors` does. */
export function createOriginCheck(options: CorsOptions): (origin: string) => boolean {
  return resolvePolicy(options).allows;
}

interface Policy {
  readonly allowsAny: boolean;
  readonly credentials: boolean;
  readonly allowHeaders: string;
  readonly exposeHeaders: string;
  readonly maxAge: string;
  allows(origin: string): boolean;
}

function resolvePolicy(options: CorsOptions): Policy {
  const { origins, credentials = false, maxAgeSeconds = 3_600 } = options;
  if (origins === "*" && credentials) throw new TypeError('cors: credentials need a list of origins instead of "*"');
  const allows = origins === "*" ? () => true : compileOrigins(origins);
  return {
    allowsAny: origins === "*",
    credentials,
    allowHeaders: [...requestHeaders, ...(options.allowHeaders ?? [])].join(", "),
    exposeHeaders: [...replyHeaders, ...(options.exposeHeaders ?? [])].join(", "),
    maxAge: String(maxAgeSeconds),
    allows,
  };
}

function compileOrigins(origins: readonly string[]): (origin: string) => boolean {
  const names = new Set<string>();
  const wildcards: { readonly scheme: string; readonly suffix: string }[] = [];
  for (const value of origins) {
    const [scheme, rest, ...others] = value.split("://*.");
    if (scheme === undefined || rest === undefined || others.length > 0) {
      names.add(parseOrigin(value, value));
    } else {
      const base = parseOrigin(`${scheme}://${rest}`, value);
      wildcards.push({ scheme: `${scheme}://`, suffix: `.${base.slice(scheme.length + 3)}` });
    }
  }
  return (origin) =>
    names.has(origin) ||
    wildcards.some(
      ({ scheme, suffix }) =>
        origin.startsWith(scheme) &&
        origin.endsWith(suffix) &&
        hostLabels.test(origin.slice(scheme.length, -suffix.length)),
    );
}

/** Matches the text for the asterisk: labels of a host name. */
const hostLabels = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i;

function parseOrigin(text: string, value: string): string {
  const url = URL.parse(text);
  if (url === null || text.includes("*") || url.origin === "null" || ![url.origin, `${url.origin}/`].includes(text)) {
    throw new TypeError(
      `cors: ${JSON.stringify(value)} is not an origin: write scheme, host and port, as https://example.org, or https://*.example.org for every host below a name`,
    );
  }
  return url.origin;
}

function preflight(policy: Policy, origin: string | undefined): HttpReply {
  const permissions = {
    "Access-Control-Allow-Methods": methods,
    "Access-Control-Allow-Headers": policy.allowHeaders,
    "Access-Control-Max-Age": policy.maxAge,
  };
  const headers = origin === undefined ? {} : { ...originHeaders(policy, origin), ...permissions };
  return { status: 204, headers: { ...headers, ...vary(policy, undefined) }, body: undefined };
}

function originHeaders(policy: Policy, origin: string): Record<string, string> {
  const headers: Record<string, string> = { "Access-Control-Allow-Origin": policy.allowsAny ? "*" : origin };
  if (policy.credentials) headers["Access-Control-Allow-Credentials"] = "true";
  return headers;
}

async function withOrigin(
  answer: ReturnType<HttpEndpoint>,
  policy: Policy,
  origin: string,
): Promise<HttpReply | undefined> {
  const reply = await answer;
  if (reply === undefined) return undefined;
  const headers = {
    ...reply.headers,
    ...originHeaders(policy, origin),
    "Access-Control-Expose-Headers": policy.exposeHeaders,
    ...vary(policy, reply.headers["Vary"]),
  };
  return { ...reply, headers };
}

/** Adds `Vary: Origin`, so that a cache does not give this reply without CORS headers to a page that needs them. */
async function withVary(answer: ReturnType<HttpEndpoint>, policy: Policy): Promise<HttpReply | undefined> {
  const reply = await answer;
  if (reply === undefined || policy.allowsAny) return reply;
  return { ...reply, headers: { ...reply.headers, ...vary(policy, reply.headers["Vary"]) } };
}

function vary(policy: Policy, current: string | undefined): Record<string, string> {
  if (policy.allowsAny) return current === undefined ? {} : { Vary: current };
  return { Vary: current === undefined ? "Origin" : `${current}, Origin` };
}
