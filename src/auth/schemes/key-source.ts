import { createRemoteJWKSet, type JWTVerifyGetKey, customFetch as joseFetch } from "jose";
import { allowInsecureRequests, customFetch, discoveryRequest, processDiscoveryResponse } from "oauth4webapi";
import { mayCarry } from "../../protocol/authorization/may-carry.js";
import { A2AError } from "../../protocol/errors.js";
import { libraryFetch } from "./fetch-response.js";
import type { SchemeEnvironment } from "./scheme.js";

/** How long keys are kept, and the shortest time between two requests for them. */
const cacheMs = 10 * 60_000;
const cooldownMs = 30_000;
/** How long a failed request is remembered: the next call does not wait for another one. */
const failedMs = 5_000;

/** The keys at a URL: kept, and read again for a key id that is not among them, at most every 30 s. */
export function keysAt(url: string, environment: Pick<SchemeEnvironment, "fetch" | "clock">): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: cacheMs,
    cooldownDuration: cooldownMs,
    [joseFetch]: restingFetch(environment),
  });
  // Headers that point to a key elsewhere are never followed: `jku`, `x5u` and `jwk` are the sender's word.
  return (header, token) => keys(header, token);
}

/** Rests after a request that failed, so that calls to an agent are no calls to a server that is down. */
function restingFetch({ fetch, clock }: Pick<SchemeEnvironment, "fetch" | "clock">): ReturnType<typeof libraryFetch> {
  const ask = libraryFetch(fetch);
  let failedUntil = 0;
  return async (url, request) => {
    if (clock.now() < failedUntil) throw new Error(`${url} is not asked again yet: its last request failed`);
    let isAnswered = false;
    try {
      const answer = await ask(url, request);
      isAnswered = answer.ok;
      return answer;
    } finally {
      failedUntil = isAnswered ? 0 : clock.now() + failedMs;
    }
  };
}

/**
 * The keys that an issuer names in its metadata (OpenID Connect Discovery, RFC 8414). The metadata is read when the first
 * token is checked.
 */
export function keysOf(issuer: string, environment: SchemeEnvironment): JWTVerifyGetKey {
  let found: Promise<JWTVerifyGetKey> | undefined;
  let failedUntil = 0;
  const discover = (): Promise<JWTVerifyGetKey> => {
    const { clock } = environment;
    if (found === undefined && clock.now() < failedUntil) throw unreachable(issuer);
    found ??= keyUrlOf(issuer, environment)
      .then((url) => {
        const { fetch, foreignFetch } = environment;
        return keysAt(url, { clock, fetch: isOwn(url, issuer) ? fetch : foreignFetch });
      })
      .catch((error: unknown) => {
        found = undefined;
        failedUntil = clock.now() + failedMs;
        throw unreachable(issuer, error);
      });
    return found;
  };
  return async (header, token) => (await discover())(header, token);
}

async function keyUrlOf(issuer: string, { fetch }: SchemeEnvironment): Promise<string> {
  const identifier = new URL(issuer);
  const failures: unknown[] = [];
  for (const algorithm of ["oidc", "oauth2"] as const) {
    try {
      // Only within this machine: our own fetch refuses the rest.
      const options = { algorithm, [customFetch]: libraryFetch(fetch), [allowInsecureRequests]: true };
      const server = await processDiscoveryResponse(identifier, await discoveryRequest(identifier, options));
      const { jwks_uri: url } = server;
      if (url !== undefined && mayCarry(url, false)) return url;
      failures.push(new Error(`the metadata of ${issuer} has no jwks_uri that is https`));
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `the metadata of ${issuer} cannot be read`);
}

const isOwn = (url: string, issuer: string): boolean => new URL(url).origin === new URL(issuer).origin;

function unreachable(issuer: string, cause?: unknown): A2AError {
  const text = `the metadata of the issuer ${issuer} cannot be read, try again`;
  return new A2AError("unavailable", text, { retryAfterMs: failedMs, cause });
}
