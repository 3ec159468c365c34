import { noop } from "../../protocol/async/noop.js";
import { A2AError, CallError } from "../../protocol/errors.js";
import type { HttpAnswer } from "../../protocol/fetch.js";
import { isLoopback } from "../../protocol/loopback.js";

// Follows redirects by hand, so that credentials never reach an origin they were not meant for.

/** A request that can be repeated. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Record<string, string>;
  /** Whether a redirect has left the origin that the caller named. */
  readonly abroad: boolean;
}

const redirectMax = 5;
const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/**
 * Sends a request and follows up to five redirects: GET and HEAD to any origin, other methods only by 307 and 308
 * within their origin. Another origin does not get the headers that may identify the caller. A redirect that must not
 * be followed is returned as the response.
 *
 * @throws A2AError `invalidAgentResponse` on a sixth redirect, and on one from TLS to plain text or to an invalid
 *   address
 */
export async function followRedirects(first: Hop, send: (hop: Hop) => Promise<HttpAnswer>): Promise<HttpAnswer> {
  let hop = first;
  for (let count = 0; ; count++) {
    const response = await send(hop);
    const next = nextHop(hop, response);
    if (next === undefined) return response;
    response.body?.cancel().then(undefined, noop);
    if (next instanceof A2AError) throw next;
    if (count === redirectMax) throw badRedirect(response, `more than ${redirectMax} redirects`);
    hop = next;
  }
}

/** Returns the response, or throws if it is a redirect. */
export function refuseRedirect(answer: HttpAnswer): HttpAnswer {
  if (!redirectStatuses.has(answer.status)) return answer;
  answer.body?.cancel().then(undefined, noop);
  throw badRedirect(answer, "a redirect, which is not followed here");
}

function nextHop({ url, method, headers, abroad }: Hop, response: HttpAnswer): Hop | A2AError | undefined {
  const location = response.headers.get("location");
  if (location === null || !redirectStatuses.has(response.status)) return undefined;
  const target = URL.parse(location, url.href);
  const leaves = target?.origin !== url.origin;
  if (!safeMethods.has(method) && (leaves || response.status < 307)) return undefined;
  if (target === null || !/^https?:$/.test(target.protocol) || target.username !== "" || target.password !== "") {
    return badRedirect(response, "a redirect to an address that is not HTTP");
  }
  if (url.protocol === "https:" && target.protocol === "http:" && !isLoopback(target.hostname)) {
    return badRedirect(response, `a redirect from TLS to plain text at ${target.host}`);
  }
  return { url: target, method, headers: leaves ? publicHeaders(headers) : headers, abroad: abroad || leaves };
}

/** Headers that describe the request and do not identify the caller. */
const harmlessHeaders = /^(?:accept|content-type|a2a-(?:version|extensions))$/i;

function publicHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => harmlessHeaders.test(name)));
}

function badRedirect({ status }: HttpAnswer, what: string): A2AError {
  return new CallError("invalidAgentResponse", `the agent answered with ${what}`, {
    metadata: { httpStatus: String(status) },
  });
}
