import { maySendSecret } from "../../protocol/authorization/may-send-secret.js";
import {
  amount,
  assertOptions,
  entries,
  type MembersOf,
  object,
  type Rule,
  string,
} from "../../protocol/check/rules.js";
import { isObject } from "../../protocol/kinds.js";
import type { IssuerKeys } from "./issuer-keys.js";
import { createDiscoveredKeys, createKeysAt } from "./issuer-keys.js";
import { type JwtKey, jwtCheck, publicKeyAlgorithms, type TokenCheck } from "./jwt.js";
import { type AuthScheme, readAuthorization, type SchemeCheck, type SchemeEnvironment } from "./scheme.js";

/** Required claims of JSON Web Tokens, and the keys that verify them. */
export interface JwtOptions {
  /** The exact `iss` of the tokens. Without `jwks` and `key`, the keys come from its metadata. */
  readonly issuer: string;
  /** `aud` of the tokens: the name of this agent at the issuer, or several names. */
  readonly audience: string | readonly string[];
  /** URL of the issuer's keys. Default: the one in the issuer's metadata, by OpenID Connect Discovery or RFC 8414. */
  readonly jwks?: string | undefined;
  /** The key, instead of `jwks`. A shared secret needs `algorithms`. */
  readonly key?: JwtKey | undefined;
  /** Accepted algorithms. Default: every algorithm with a public key; `none` is never accepted. */
  readonly algorithms?: readonly string[] | undefined;
  /** Tolerated difference between the issuer's clock and this one, in milliseconds, up to 600,000. Default: 30,000. */
  readonly clockSkewMs?: number | undefined;
}

/** Options of `bearerJwt`: which tokens are accepted. */
export interface BearerJwtOptions extends JwtOptions {
  /** For people, in the card. Default: none. */
  readonly description?: string | undefined;
}

/** A text, or several. */
const texts: Rule = (value, path) => (Array.isArray(value) ? entries(string) : string)(value, path);

const jwtKey: Rule = (value, path) =>
  value instanceof Uint8Array || (isObject(value) && ("kty" in value || "type" in value))
    ? []
    : [`${path} must be a CryptoKey, a KeyObject, a JWK or the bytes of a secret`];

/** An expired token is accepted for that long, so a day or `Infinity` would be a mistake. */
const longestSkewMs = 600_000;

const skew: Rule = (value, path) =>
  typeof value === "number" && value > longestSkewMs
    ? [`${path} must be ${longestSkewMs} at most, not ${value}: expired tokens are accepted for that long`]
    : amount(value, path);

/** The rules of the options that check tokens. */
export const jwtMembers: MembersOf<JwtOptions> = {
  issuer: { rule: string, missing: "give the text that tokens have as iss" },
  audience: { rule: texts, missing: "give the name of this agent at the issuer" },
  jwks: { rule: string },
  key: { rule: jwtKey },
  algorithms: { rule: entries(string) },
  clockSkewMs: { rule: skew },
};

const bearerMembers: MembersOf<BearerJwtOptions> = { ...jwtMembers, description: { rule: string } };
const bearerRule = object(bearerMembers);

/**
 * Accepts JSON Web Tokens in `Authorization: Bearer …` (RFC 7519, RFC 6750). Checks signature, issuer, audience and
 * lifetime. Keys are fetched every 10 minutes, and when a token names an unknown key. While they cannot be fetched, the
 * last ones are used for 24 hours. Throws a `TypeError` for wrong options.
 *
 * @example
 * ```ts
 * const jwt = bearerJwt({ issuer: "https://login.example", audience: "weather" });
 * const server = await serve({ card, agent, auth: { schemes: { jwt } } });
 * ```
 */
export function bearerJwt(bearerOptions: BearerJwtOptions): AuthScheme {
  assertOptions("bearerJwt", bearerOptions, bearerRule);
  const { description = "", ...options } = bearerOptions;
  checkJwtOptions("bearerJwt", options);
  return {
    declaration: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer", bearerFormat: "JWT", description } },
    challenge: bearerChallenge,
    open: (environment) => bearerCheck(createTokenCheck(options, environment)),
  };
}

export const bearerChallenge = "Bearer";

/** Checks the bearer token of a call. */
export function bearerCheck(check: TokenCheck): SchemeCheck {
  return (call) => {
    const token = readAuthorization(call, "bearer");
    return token === undefined ? undefined : check(token);
  };
}

/** The check of tokens of one issuer. */
export function createTokenCheck(options: JwtOptions, environment: SchemeEnvironment): TokenCheck {
  const { issuer, audience, algorithms = publicKeyAlgorithms, clockSkewMs = 30_000 } = options;
  return jwtCheck(keysFor(options, environment), { issuer, audience, algorithms, clockSkewMs }, environment);
}

function keysFor({ issuer, jwks, key }: JwtOptions, environment: SchemeEnvironment): JwtKey | IssuerKeys {
  if (key !== undefined) return key;
  return jwks === undefined ? createDiscoveredKeys(issuer, environment) : createKeysAt(jwks, environment);
}

/** Throws a `TypeError` that names the first member that is not right. */
export function checkJwtOptions(what: string, options: JwtOptions): void {
  const { issuer, audience, jwks, key, algorithms } = options;
  const require = (holds: boolean, problem: string): void => {
    if (!holds) throw new TypeError(`${what}: ${problem}`);
  };
  const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
  const audiences = [audience].flat();
  require(isText(issuer), "issuer must be the text that tokens have as iss");
  require(audiences.length > 0 && audiences.every(isText), "audience must be a text or a list of texts");
  require(jwks === undefined || key === undefined, "give jwks or key, not both");
  const url = key === undefined ? (jwks ?? issuer) : undefined;
  require(url === undefined ||
    maySendSecret(url, false), `${jwks === undefined ? "issuer" : "jwks"} must be an https URL`);
  require(algorithms === undefined ||
    (algorithms.length > 0 && algorithms.every(isText)), "algorithms must be a list of names");
  require(algorithms?.includes("none") !== true, 'algorithms must not have "none": such tokens are not signed');
  const isSecret = key instanceof Uint8Array || (key !== undefined && "type" in key && key.type === "secret");
  require(!isSecret || algorithms !== undefined, 'a shared secret needs its algorithms, such as ["HS256"]');
  const isMixed = algorithms?.some((name) => name.startsWith("HS")) === true && !isSecret && !isSymmetric(key);
  require(!isMixed, "algorithms with a shared secret (HS…) need that secret as key");
}

function isSymmetric(key: JwtOptions["key"]): boolean {
  return key !== undefined && "kty" in key && key.kty === "oct";
}
