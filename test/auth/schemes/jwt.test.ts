import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { type AuthScheme, type BearerJwtOptions, bearerJwt, CredentialError, type Identity } from "trivium/auth";
import { describe, expect, it } from "vitest";
import type { AuthOptions } from "../../../src/auth/auth-options.js";
import { openGate } from "../../../src/auth/gate.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { callWith, unreachable } from "./call-with.js";

const issuer = "https://id.example";
const audience = "weather";
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
const now = Date.UTC(2026, 0, 1);
const seconds = now / 1000;

const encoded = (part: unknown): string =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");

const claims = { iss: issuer, aud: audience, sub: "alice", exp: seconds + 600, scope: "read write" };

/** A token in compact form, signed by ES256 whatever its header says. */
function token(payload: unknown = claims, header: unknown = { alg: "ES256", typ: "JWT" }, key = privateKey): string {
  const input = `${encoded(header)}.${encoded(payload)}`;
  return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

function unsigned(header: unknown): string {
  return `${encoded(header)}.${encoded(claims)}.`;
}

/** Lists within each other to this depth. */
function nested(depth: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < depth; level++) value = [value];
  return value;
}

/** Signs by HMAC with the text of the public key, which everybody may know. */
function signedByPublicKey(): string {
  const input = `${encoded({ alg: "HS256" })}.${encoded(claims)}`;
  const secret = publicKey.export({ type: "spki", format: "pem" });
  return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
}

function check(options: Partial<BearerJwtOptions> = {}, clock = createTestClock({ start: now })) {
  const opened = bearerJwt({ issuer, audience, key: publicKey, ...options }).open({ ...unreachable, clock });
  return async (bearer: string): Promise<Identity | undefined> =>
    opened(callWith({ authorization: `Bearer ${bearer}` }));
}

describe("a JSON Web Token", () => {
  it("a JSON Web Token names its subject, issuer, scopes and claims", async () => {
    expect(await check()(token())).toEqual({ subject: "alice", issuer, scopes: ["read", "write"], claims });
  });

  it.each([
    ["claims 32 deep", { ...claims, nested: nested(31) }, { subject: "alice" }],
    ["a list of scopes", { ...claims, scope: undefined, scp: ["a", 1, "b"] }, { scopes: ["a", "b"] }],
    ["a client without a subject", { ...claims, sub: undefined, client_id: "robot" }, { subject: "robot" }],
    ["one audience of several", { ...claims, aud: ["other", audience] }, { subject: "alice" }],
    ["a clock that is 20 s ahead", { ...claims, nbf: seconds + 20 }, { subject: "alice" }],
    ["a clock that is 20 s behind", { ...claims, exp: seconds - 20 }, { subject: "alice" }],
  ])("a JSON Web Token is taken with %s", async (_, payload, identity) => {
    expect(await check()(token(payload))).toMatchObject(identity);
  });

  const elsewhere = { alg: "ES256", jku: "https://evil.example/jwks", x5u: "https://evil.example/x5u" };
  const embedded = { alg: "ES256", jwk: other.publicKey.export({ format: "jwk" }) };
  it.each([
    ["has expired", token({ ...claims, exp: seconds - 31 }), "the token has expired"],
    ["never expires", token({ ...claims, exp: undefined }), "the token's claim exp is missing"],
    ["is for later", token({ ...claims, nbf: seconds + 31 }), "the token's claim nbf is in the future"],
    [
      "is of another issuer",
      token({ ...claims, iss: "https://evil.example" }),
      "the token's claim iss names another issuer",
    ],
    ["is for another agent", token({ ...claims, aud: "travel" }), "the token's claim aud does not name this agent"],
    ["is for nobody", token({ ...claims, aud: undefined }), "the token's claim aud is missing"],
    ["names nobody", token({ ...claims, sub: "" }), "the token has neither `sub` nor `client_id`"],
    ["is not signed", unsigned({ alg: "none" }), "the token's signature algorithm is not accepted"],
    ["is not signed, in capitals", unsigned({ alg: "NONE" }), "the token's signature algorithm is not accepted"],
    ["is signed by the public key as a secret", signedByPublicKey(), "the token's signature algorithm is not accepted"],
    ["is signed by another key", token(claims, { alg: "ES256" }, other.privateKey), "the token is not valid"],
    ["points to keys elsewhere", token(claims, elsewhere, other.privateKey), "the token is not valid"],
    ["brings its own key", token(claims, embedded, other.privateKey), "the token is not valid"],
    [
      "has a key id that is a path",
      token(claims, { alg: "ES256", kid: "../../dev/null" }, other.privateKey),
      "the token is not valid",
    ],
    [
      "has a critical extension",
      token(claims, { alg: "ES256", crit: ["x"], x: 1 }),
      "the token's header names an algorithm or extension that is not supported",
    ],
    ["has a claim twice", token(`{"sub":"mallory",${JSON.stringify(claims).slice(1)}`), "the token is not valid"],
    ["has a header twice", token(claims, '{"alg":"ES256","alg":"ES256"}'), "the token is not valid"],
    [
      "has a claim twice, spelled otherwise",
      token(`{"\\u0073ub":"mallory",${JSON.stringify(claims).slice(1)}`),
      "the token is not valid",
    ],
    ["is no token", "abc", "the token is not valid"],
    ["is no JSON", token("{"), "the token is not valid"],
    ["is oversized", token({ ...claims, more: "x".repeat(8192) }), "the credential is longer than 8192 characters"],
    ["is nested", token({ ...claims, nested: nested(32) }), "the token is nested more than 32 deep"],
    [
      "is nested too deep to be walked",
      token({ ...claims, nested: nested(2500) }),
      "the token is nested more than 32 deep",
    ],
    [
      "has a nested header",
      token(claims, { alg: "ES256", nested: nested(32) }),
      "the token is nested more than 32 deep",
    ],
    ["was changed", token().replace(/.$/, (last) => (last === "A" ? "Q" : "A")), "the token is not valid"],
  ])("a JSON Web Token is refused when it %s", async (_, bearer, message) => {
    const refused = await check()(bearer).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(CredentialError);
    expect((refused as Error).message).toBe(message);
    // What is refused once is refused again.
    await expect(check()(bearer)).rejects.toThrow(message);
  });

  it("a JSON Web Token of one issuer is not taken by the keys of another, where both are accepted", async () => {
    const second = "https://second.example";
    const environment = { ...unreachable, clock: createTestClock({ start: now }) };
    const schemes = {
      first: bearerJwt({ issuer, audience, key: publicKey }),
      second: bearerJwt({ issuer: second, audience, key: other.publicKey }),
    };
    const gate = openGate({ schemes }, environment);
    const owner = async (iss: string, key = privateKey) => {
      const bearer = token({ ...claims, iss }, { alg: "ES256" }, key);
      return (await gate.identify(callWith({ authorization: `Bearer ${bearer}` }))).principal.owner;
    };
    expect(await owner(issuer)).toBe(`${issuer}#alice`);
    expect(await owner(second, other.privateKey)).toBe(`${second}#alice`);
    await expect(owner(issuer, other.privateKey)).rejects.toMatchObject({ code: "unauthenticated" });
    await expect(owner(second)).rejects.toMatchObject({ code: "unauthenticated" });
  });

  it("a JSON Web Token that was taken a moment ago is not verified again, and expires all the same", async () => {
    const clock = createTestClock({ start: now });
    const checked = check({}, clock);
    const first = await checked(token());
    const bearer = token();
    const cachedPrincipal = await checked(bearer);
    expect(cachedPrincipal).toEqual(first);
    expect(await checked(bearer)).toBe(cachedPrincipal);
    await clock.advance(599_000);
    expect(await checked(bearer)).toEqual(cachedPrincipal);
    await clock.advance(32_000);
    await expect(checked(bearer)).rejects.toThrow("the token has expired");
  });
});

describe("the principal of a caller", () => {
  const principalBy = async (scheme: AuthScheme, principal?: AuthOptions["principal"], bearer = token()) => {
    const environment = { ...unreachable, clock: createTestClock({ start: now }) };
    const gate = openGate({ schemes: { user: scheme }, principal }, environment);
    return (await gate.identify(callWith({ authorization: `Bearer ${bearer}` }))).principal;
  };
  const jwt = bearerJwt({ issuer, audience, key: publicKey });
  const groups = ["cooks"];
  const own: AuthScheme = {
    ...jwt,
    open: () => () => ({ subject: "alice", scopes: groups, claims: { groups } }),
  };
  const roles = ["admin"];

  it.each<[string, AuthScheme, AuthOptions["principal"]]>([
    ["of a token", jwt, undefined],
    ["of a token, with members of the application's own", jwt, () => ({ owner: "a", roles })],
    ["of a scheme of one's own", own, undefined],
    ["of a scheme of one's own, with members of the application's own", own, () => ({ owner: "a", roles })],
  ])("the principal %s cannot be changed at any depth", async (_, scheme, named) => {
    const principal = await principalBy(scheme, named, token({ ...claims, groups, address: { city: "Rome" } }));
    const parts = [principal, ...Object.values(principal), ...Object.values(principal["claims"] ?? {})];
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
    expect([groups, roles].map((list) => Object.isFrozen(list))).toEqual([false, false]);
  });
});

it.each<[string, Partial<BearerJwtOptions>, string]>([
  ["without an issuer", { issuer: "" }, "bearerJwt: issuer must be the text that tokens have as iss"],
  ["without an audience", { audience: [] }, "bearerJwt: audience must be a text or a list of texts"],
  ["with keys twice", { jwks: "https://id.example/k" }, "bearerJwt: give jwks or key, not both"],
  ["with keys in the clear", { key: undefined, jwks: "http://id.example/k" }, "bearerJwt: jwks must be an https URL"],
  [
    "with an issuer in the clear",
    { key: undefined, issuer: "http://id.example" },
    "bearerJwt: issuer must be an https URL",
  ],
  [
    "with unsigned tokens",
    { algorithms: ["none"] },
    'bearerJwt: algorithms must not have "none": such tokens are not signed',
  ],
  [
    "with a secret of no algorithm",
    { key: new Uint8Array(32) },
    'bearerJwt: a shared secret needs its algorithms, such as ["HS256"]',
  ],
  [
    "with a public key as a secret",
    { algorithms: ["HS256"] },
    "bearerJwt: algorithms with a shared secret (HS…) need that secret as key",
  ],
  [
    "with a clock that runs backwards",
    { clockSkewMs: -1 },
    "bearerJwt: clockSkewMs must be a number of 0 or more, not -1",
  ],
  [
    "with a clock that may be anywhere",
    { clockSkewMs: Number.POSITIVE_INFINITY },
    "bearerJwt: clockSkewMs must be 600000 at most, not Infinity: expired tokens are accepted for that long",
  ],
])("bearerJwt is refused %s", (_, options, message) => {
  expect(() => bearerJwt({ issuer, audience, key: publicKey, ...options })).toThrow(new TypeError(message));
});
