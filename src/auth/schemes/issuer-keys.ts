import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { allowInsecureRequests, customFetch, discoveryRequest, processDiscoveryResponse } from "oauth4webapi";
import type { Clock } from "../../protocol/async/clock.js";
import { noop } from "../../protocol/async/noop.js";
import { maySendSecret } from "../../protocol/authorization/may-send-secret.js";
import { readErrorMessage } from "../../protocol/errors.js";
import type { Fetch } from "../../protocol/fetch.js";
import { libraryFetch } from "./fetch-response.js";
import { createCheckError, type SchemeEnvironment } from "./scheme.js";

/** How long keys count as current. */
const currentMs = 10 * 60_000;
/** How long keys serve while newer ones cannot be read, counted from when they were read. */
const staleMs = 24 * 60 * 60_000;
/** The shortest time from keys that were read to a request for one that is not among them. */
const cooldownMs = 30_000;
/** How long a failed request is remembered, so that calls do not reach a server that is down. */
const failedMs = 5_000;
/** How long after a failed request calls do not wait for the next one, if there are keys. */
const downMs = 60_000;

/** Where keys come from. */
export interface KeyReading {
  /** Reads all keys. Rejects when they cannot be read. */
  readonly read: () => Promise<JSONWebKeySet>;
  /** Called when old keys serve because newer ones cannot be read, once until they can. */
  readonly onStale: (error: unknown) => void;
  readonly clock: Clock;
}

/**
 * The keys of an issuer: kept for 10 minutes, and read again for a key id that is not among them, at most every 30 s. While
 * they cannot be read, those of before serve for 24 hours. A key that is no longer listed is gone with the first answer
 * without it.
 */
export class IssuerKeys {
  readonly #reading: KeyReading;
  #find: JWTVerifyGetKey | undefined;
  #keyTexts: readonly string[] = [];
  #removals = 0;
  #readAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #isStale = false;
  #request: Promise<void> | undefined;

  constructor(reading: KeyReading) {
    this.#reading = reading;
  }

  /** How often keys were removed: one of those may have signed what was verified before. */
  get removals(): number {
    return this.#removals;
  }

  /** Finds the key that signed a token. Headers that point to one elsewhere are ignored: `jku`, `x5u`, `jwk`. */
  readonly keyFor: JWTVerifyGetKey = async (header, token) => {
    await this.#renew();
    try {
      return await this.#findKey(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.#since(this.#readAt) < cooldownMs) throw error;
    }
    await this.#ask();
    return this.#findKey(header, token);
  };

  readonly #findKey: JWTVerifyGetKey = (header, token) => {
    if (this.#find === undefined) throw this.#failure;
    return this.#find(header, token);
  };

  async #renew(): Promise<void> {
    const age = this.#since(this.#readAt);
    if (age < currentMs) return;
    const isDown = this.#since(this.#failedAt) < downMs;
    const request = this.#ask();
    if (age >= staleMs) await request;
    else if (isDown) request.catch(noop);
    else await request.catch(noop);
  }

  /** One request for calls at the same time, and none right after one that failed. */
  #ask(): Promise<void> {
    if (this.#since(this.#failedAt) < failedMs) return Promise.reject(this.#failure);
    this.#request ??= this.#read().finally(() => {
      this.#request = undefined;
    });
    return this.#request;
  }

  async #read(): Promise<void> {
    try {
      const keys = await this.#reading.read();
      this.#find = createLocalJWKSet(keys);
      this.#replaceKeys(keys.keys.map((key) => JSON.stringify(key)));
      this.#readAt = this.#reading.clock.now();
      this.#failedAt = Number.NEGATIVE_INFINITY;
      this.#isStale = false;
    } catch (error) {
      this.#failure = error;
      this.#failedAt = this.#reading.clock.now();
      const isStale = this.#find !== undefined && this.#since(this.#readAt) >= currentMs;
      if (isStale && !this.#isStale) this.#reading.onStale(error);
      this.#isStale = isStale;
      throw error;
    }
  }

  #replaceKeys(keyTexts: readonly string[]): void {
    if (this.#keyTexts.some((key) => !keyTexts.includes(key))) this.#removals += 1;
    this.#keyTexts = keyTexts;
  }

  #since(time: number): number {
    return this.#reading.clock.now() - time;
  }
}

const oldKeysServe = "the keys of an issuer cannot be read: those of before are used, for 24 hours at most";

/** The keys at a URL. */
export function createKeysAt(url: string, { fetch, clock, logger }: SchemeEnvironment): IssuerKeys {
  const onStale = (err: unknown): void => logger.warn({ url, err }, oldKeysServe);
  return new IssuerKeys({ read: () => readKeys(url, fetch), onStale, clock });
}

/**
 * The keys that an issuer names in its metadata (OpenID Connect Discovery, RFC 8414). The metadata is read when the first
 * token is checked, and again when there are no keys at the URL that it named.
 */
export function createDiscoveredKeys(issuer: string, environment: SchemeEnvironment): IssuerKeys {
  const { fetch, foreignFetch, clock, logger } = environment;
  let knownUrl: string | undefined;
  let isCurrent = false;
  const read = async (): Promise<JSONWebKeySet> => {
    const url = knownUrl !== undefined && isCurrent ? knownUrl : await findKeyUrl(issuer, fetch, knownUrl);
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
    throw new Error(`the keys at ${url} cannot be read: ${readErrorMessage(cause)}`, { cause });
  }
}

/** Where the keys are by the issuer's metadata, or were before it could not be read. */
async function findKeyUrl(issuer: string, fetch: Fetch, previousUrl: string | undefined): Promise<string> {
  const identifier = new URL(issuer);
  const failures: unknown[] = [];
  for (const algorithm of ["oidc", "oauth2"] as const) {
    try {
      // Only within this machine: our own fetch refuses the rest.
      const options = { algorithm, [customFetch]: libraryFetch(fetch), [allowInsecureRequests]: true };
      const server = await processDiscoveryResponse(identifier, await discoveryRequest(identifier, options));
      const { jwks_uri: url } = server;
      if (url !== undefined && maySendSecret(url, false)) return url;
      failures.push(new Error(`the metadata of ${issuer} has no jwks_uri that is https`));
    } catch (error) {
      failures.push(error);
    }
  }
  if (previousUrl !== undefined) return previousUrl;
  const cause = new AggregateError(failures, failures.map(readErrorMessage).join("; "));
  throw createCheckError(new Error(`the metadata of the issuer ${issuer} cannot be read`, { cause }), failedMs);
}

const isOwn = (url: string, issuer: string): boolean => new URL(url).origin === new URL(issuer).origin;
