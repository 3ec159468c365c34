import type { JsonValue } from "@bufbuild/protobuf";
import { type CryptoKey, errors, type JWK, type JWTPayload, jwtVerify, type KeyObject } from "jose";
import { MaskedError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/kinds.js";
import { exceedsDepth } from "../freeze.js";
import { IssuerKeys } from "./issuer-keys.js";
import { CredentialError, createCheckError, type Identity, type SchemeEnvironment, SharedIdentity } from "./scheme.js";
import { TokenCache } from "./token-cache.js";

/** The claims and signatures that a token must have. */
export interface JwtRules {
  readonly issuer: string;
  /** The name of this agent at the issuer, one of several if the token has more. */
  readonly audience: string | readonly string[];
  readonly algorithms: readonly string[];
  readonly clockSkewMs: number;
}

/** A public key or a shared secret: a key of Web Crypto or Node, or a JWK. */
export type JwtKey = CryptoKey | KeyObject | JWK | Uint8Array;

/** The algorithms of signatures with public keys. A shared secret needs its algorithm by name. */
export const publicKeyAlgorithms: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** How long a verified token is cached, unless its issuer removes a key. */
const cacheMs = 5 * 60_000;

/** A check of tokens by their signature and claims (RFC 8725). */
export type TokenCheck = (token: string) => Identity | Promise<Identity>;

export function jwtCheck(
  keys: JwtKey | IssuerKeys,
  rules: JwtRules,
  { clock }: Pick<SchemeEnvironment, "clock">,
): TokenCheck {
  let cache = new TokenCache(clock, cacheMs);
  let removals = 0;
  const verify = async (token: string): Promise<Identity> => {
    // Not a later cache: it is made when a key is removed, which may be the key of this token.
    const currentCache = cache;
    const payload = await verifyJwt(keys, token, rules, clock.now());
    const identity = identityFrom(payload);
    currentCache.set(token, identity, (payload.exp ?? 0) * 1000);
    return identity;
  };
  return (token) => {
    if (keys instanceof IssuerKeys && keys.removals !== removals) {
      cache = new TokenCache(clock, cacheMs);
      removals = keys.removals;
    }
    return cache.identify(token, verify);
  };
}

async function verifyJwt(keys: JwtKey | IssuerKeys, token: string, rules: JwtRules, now: number): Promise<JWTPayload> {
  const { issuer, audience, algorithms, clockSkewMs } = rules;
  const options = {
    issuer,
    audience: [audience].flat(),
    algorithms: [...algorithms],
    clockTolerance: clockSkewMs / 1000,
    currentDate: new Date(now),
    requiredClaims: ["exp"],
  };
  try {
    const { payload, protectedHeader } =
      keys instanceof IssuerKeys ? await jwtVerify(token, keys.keyFor, options) : await jwtVerify(token, keys, options);
    const [header = "", body = ""] = token.split(".", 2);
    assertSingleMembers(header, protectedHeader);
    assertSingleMembers(body, payload);
    return payload;
  } catch (error) {
    throw toProblem(error, issuer);
  }
}

/** A problem of the token is its sender's; one of the keys is not. */
function toProblem(error: unknown, issuer: string): unknown {
  if (error instanceof errors.JWTExpired) return new CredentialError("the token has expired", { cause: error });
  if (error instanceof errors.JWTClaimValidationFailed) {
    const problem = error.reason === "missing" ? "is missing" : (claimProblems[error.claim] ?? "is not as required");
    return new CredentialError(`the token's claim ${error.claim} ${problem}`, { cause: error });
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return new CredentialError("the token's signature algorithm is not accepted", { cause: error });
  }
  if (error instanceof errors.JOSENotSupported) {
    return new CredentialError("the token's header names an algorithm or extension that is not supported", {
      cause: error,
    });
  }
  if (error instanceof errors.JWKSMultipleMatchingKeys) {
    return new CredentialError("several keys of the issuer fit: the token needs a `kid` header", {
      cause: error,
    });
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return new CredentialError("the token is signed by a key that its issuer does not list", { cause: error });
  }
  const isTokens =
    error instanceof errors.JWSInvalid ||
    error instanceof errors.JWTInvalid ||
    error instanceof errors.JWSSignatureVerificationFailed;
  if (isTokens) return new CredentialError("the token is not valid", { cause: error });
  if (error instanceof MaskedError || error instanceof CredentialError) return error;
  return createCheckError(new Error(`the keys of the issuer ${issuer} cannot be read`, { cause: error }));
}

const claimProblems: Readonly<Record<string, string>> = {
  aud: "does not name this agent",
  iss: "names another issuer",
  nbf: "is in the future",
};

/** Throws for a part of a verified token that says something twice. */
function assertSingleMembers(part: string, value: object): void {
  assertFlat(value);
  const json = Buffer.from(part, "base64url").toString("latin1");
  if (!hasSingleMembers(json, value)) throw new CredentialError("the token is not valid");
}

/** Deepest nesting of a token's claims. Code that walks them, such as that of `keepClaims`, must not overflow the stack. */
const levelMax = 32;

/** Throws for a token that says something deeper. */
function assertFlat(value: object): void {
  if (exceedsDepth(levelMax, value)) throw new CredentialError(`the token is nested more than ${levelMax} deep`);
}

/** The identity that the claims of a verified token name. They are its own from now on. */
export function identityFrom(claims: Readonly<Record<string, unknown>>): Identity {
  assertFlat(claims);
  const { sub, client_id: client, iss } = claims;
  const subject = [sub, client].find((name) => typeof name === "string" && name !== "");
  if (typeof subject !== "string") throw new CredentialError("the token has neither `sub` nor `client_id`");
  const issuer = typeof iss === "string" ? iss : undefined;
  return new SharedIdentity({ subject, issuer, scopes: readScopes(claims), claims });
}

/** The scopes of a token: `scope` as text (RFC 9068), or the list that some servers write. */
function readScopes({ scope, scp }: Readonly<Record<string, unknown>>): readonly string[] {
  const scopes = scope ?? scp;
  if (typeof scopes === "string") return scopes.split(" ").filter((name) => name !== "");
  return Array.isArray(scopes) ? scopes.filter((name) => typeof name === "string") : [];
}

/**
 * Whether a JSON text has each member of its value once. `JSON.parse` takes the last of two members with one name, other
 * readers the first: what one checks is then not what another acts on (RFC 8725, 2.4).
 */
function hasSingleMembers(json: string, value: unknown): boolean {
  return membersIn(json) === keysIn(value as JsonValue);
}

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

/** Counts the names in a JSON text: strings before a colon. */
function membersIn(json: string): number {
  let count = 0;
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at)) {
    at += 1;
    while (at < json.length && json.charCodeAt(at) !== quote) at += json.charCodeAt(at) === backslash ? 2 : 1;
    at += 1;
    while (json.charCodeAt(at) <= 0x20) at += 1;
    if (json.charCodeAt(at) === colon) count += 1;
  }
  return count;
}

function keysIn(value: JsonValue): number {
  if (!isObject(value)) return 0;
  const count = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, each) => sum + keysIn(each), count);
}
