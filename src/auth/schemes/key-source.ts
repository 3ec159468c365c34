import type { JSONWebKeySet } from "jose";
import { allowInsecureRequests, customFetch, discoveryRequest, processDiscoveryResponse } from "oauth4webapi";
import { mayCarry } from "../../protocol/authorization/may-carry.js";
import { messageOf } from "../../protocol/errors.js";
import type { Fetch } from "../../protocol/fetch.js";
import { libraryFetch } from "./fetch-response.js";
import { failedMs, IssuerKeys } from "./issuer-keys.js";
import { checkFailed, type SchemeEnvironment } from "./scheme.js";

const oldKeysServe = "the keys of an issuer cannot be read: those of before are used, for 24 hours at most";

/** The keys at a URL. */
export function keysAt(url: string, { fetch, clock, logger }: SchemeEnvironment): IssuerKeys {
  const onStale = (err: unknown): void => logger.warn({ url, err }, oldKeysServe);
  return new IssuerKeys({ read: () => readKeys(url, fetch), onStale, clock });
}

/**
 * The keys that an issuer names in its metadata (OpenID Connect Discovery, RFC 8414). The metadata is read when the first
 * token is checked, and again when there are no keys at the URL that it named.
 */
export function keysOf(issuer: string, environment: SchemeEnvironment): IssuerKeys {
  const { fetch, foreignFetch, clock, logger } = environment;
  let knownUrl: string | undefined;
  let isCurrent = false;
  const read = async (): Promise<JSONWebKeySet> => {
    const url = knownUrl !== undefined && isCurrent ? knownUrl : await keyUrlOf(issuer, fetch, knownUrl);
    isCurrent = false;
    const keys = await readKeys(url, isOwn(url, issuer) ? fetch : foreignFetch);
    knownUrl = url;
    isCurrent = true;
    return keys;
  };
  const onStale = (err: unknown): void => logger.warn({ issuer, err }, oldKeysServe);
  return new IssuerKeys({ read, onStale, clock });
}

async function readKeys(url: string, fetch: Fetch): Promise<JSONWebKeySet> {
  try {
    const answer = await libraryFetch(fetch)(url, {
      headers: { accept: "application/json, application/jwk-set+json" },
    });
    if (answer.status !== 200) throw new Error(`it answered with status ${answer.status}`);
    return (await answer.json()) as JSONWebKeySet;
  } catch (cause) {
    throw new Error(`the keys at ${url} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/** Where the keys are by the issuer's metadata, or were before it could not be read. */
async function keyUrlOf(issuer: string, fetch: Fetch, previousUrl: string | undefined): Promise<string> {
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
  if (previousUrl !== undefined) return previousUrl;
  const cause = new AggregateError(failures, failures.map(messageOf).join("; "));
  throw checkFailed(new Error(`the metadata of the issuer ${issuer} cannot be read`, { cause }), failedMs);
}

const isOwn = (url: string, issuer: string): boolean => new URL(url).origin === new URL(issuer).origin;
