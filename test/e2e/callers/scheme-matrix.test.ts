import { generateKeyPairSync, sign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Principal, reply } from "trivium";
import { type AuthScheme, apiKey, basic, bearerJwt, mutualTls, oauth2, openIdConnect } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { errorOf, say } from "../../support/say.js";
import { overEveryWire, startAgent } from "../../support/serve-agent.js";

// Every scheme with every kind of credential that it has, over every binding in every version: the answer, and that the
// agent did not run; then what the card says of each scheme in each version.

const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const foreignKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const hour = 3600;
const now = (): number => Math.floor(Date.now() / 1000);

interface Claims {
  readonly [claim: string]: unknown;
}

const right = (): Claims => ({ iss: origin, aud: "weather", sub: "alice", exp: now() + hour, scope: "go" });

/** What each kind of token says. A wrong one is of another key, or not known to the authorization server. */
const kinds: Readonly<Record<string, Claims>> = {
  expired: { exp: 1 },
  foreign: { aud: "travel" },
  "not valid yet": { nbf: now() + hour },
  right: {},
  "right without the scope": { scope: "other" },
};

function jwt(claims: Claims, key = privateKey): string {
  const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const input = `${encoded({ alg: "ES256", kid: "a" })}.${encoded({ ...right(), ...claims })}`;
  return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

/** An issuer that lists its keys, and says what opaque tokens are: those that are named like a kind. */
let issuer: Server;
let origin = "";
beforeAll(async () => {
  issuer = createServer(async (request, response) => {
    let form = "";
    for await (const piece of request.setEncoding("utf8")) form += piece;
    const claims = kinds[new URLSearchParams(form).get("token") ?? ""];
    const answers: Readonly<Record<string, object>> = {
      "/.well-known/openid-configuration": { issuer: origin, jwks_uri: `${origin}/keys` },
      "/keys": { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "a", alg: "ES256" }] },
      "/introspection": claims === undefined ? { active: false } : { active: true, ...right(), ...claims },
    };
    const answer = answers[request.url ?? ""];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer ?? {}));
  });
  await new Promise<void>((resolve) => issuer.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
});
afterAll(() => new Promise<unknown>((resolve) => issuer.close(resolve).closeAllConnections()));

type Headers = Readonly<Record<string, string>>;

interface Row {
  readonly scheme: () => AuthScheme;
  /** Who a caller with the right credential is. */
  readonly owner: () => string;
  /** Headers with a credential of each kind that the scheme has. */
  readonly credentials: () => Readonly<Record<string, Headers>>;
}

const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` });
const basicly = (pair: string): Headers => ({ authorization: `Basic ${Buffer.from(pair).toString("base64")}` });
const certificate = (subject: string): Headers => ({ "x-forwarded-client-cert": `Subject="CN=${subject}"` });
const mapped = <T>(value: (kind: string, claims: Claims) => T): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(kinds).map(([kind, claims]) => [kind, value(kind, claims)]));

const jwts = (): Readonly<Record<string, Headers>> => ({
  wrong: bearer(jwt({}, foreignKey)),
  "wrong in its form": bearer("a.b.c"),
  ...mapped((_, claims) => bearer(jwt(claims))),
});
const opaque = (): Readonly<Record<string, Headers>> => ({
  wrong: bearer("unknown"),
  ...mapped((kind) => bearer(kind)),
});

/** What a secret of each kind is worth to schemes that the agent checks itself. */
const named = (secret: string | undefined) =>
  secret === undefined ? undefined : { subject: "alice", scopes: secret === "right" ? ["go"] : [] };
const secretOf = (text: string): string | undefined => (text === "right" || text === "narrow" ? text : undefined);

const flows = () => ({ clientCredentials: { tokenUrl: `${origin}/token`, scopes: { go: "Go" } } });

const rows: Readonly<Record<string, Row>> = {
  "an API key in a header": {
    scheme: () => apiKey({ in: "header", name: "X-Key", verify: (key) => named(secretOf(key)) }),
    owner: () => "s#alice",
    credentials: () => ({
      wrong: { "x-key": "k" },
      right: { "x-key": "right" },
      "right without the scope": { "x-key": "narrow" },
    }),
  },
  "an API key in a cookie": {
    scheme: () => apiKey({ in: "cookie", name: "key", verify: (key) => named(secretOf(key)) }),
    owner: () => "s#alice",
    credentials: () => ({
      wrong: { cookie: "key=k" },
      right: { cookie: "other=1; key=right" },
      "right without the scope": { cookie: "key=narrow" },
    }),
  },
  "a password": {
    scheme: () => basic({ verify: (_, word) => named(secretOf(word)) }),
    owner: () => "s#alice",
    credentials: () => ({
      wrong: basicly("alice:x"),
      right: basicly("alice:right"),
      "right without the scope": basicly("alice:narrow"),
    }),
  },
  "a JWT": {
    scheme: () => bearerJwt({ issuer: origin, audience: "weather", key: publicKey }),
    owner: () => `${origin}#alice`,
    credentials: jwts,
  },
  "OAuth with a JWT": {
    scheme: () => oauth2({ flows: flows(), jwt: { issuer: origin, audience: "weather", key: publicKey } }),
    owner: () => `${origin}#alice`,
    credentials: jwts,
  },
  "OAuth with introspection": {
    scheme: () => {
      const client = { clientId: "weather", clientSecret: "secret", audience: "weather" };
      return oauth2({ flows: flows(), introspection: { endpoint: `${origin}/introspection`, ...client } });
    },
    owner: () => `${origin}#alice`,
    credentials: opaque,
  },
  "OpenID Connect": {
    scheme: () => openIdConnect({ discoveryUrl: `${origin}/.well-known/openid-configuration`, audience: "weather" }),
    owner: () => `${origin}#alice`,
    credentials: jwts,
  },
  "a certificate that a proxy reports": {
    scheme: () => mutualTls({ subject: ({ subject }) => named(secretOf(subject.slice("CN=".length))) }),
    owner: () => "s#alice",
    credentials: () => ({
      wrong: certificate("mallory"),
      "wrong in its form": { "x-forwarded-client-cert": 'Subject="CN=right' },
      right: certificate("right"),
      "right without the scope": certificate("narrow"),
    }),
  },
};

const optionsOf = ({ scheme }: Row) => ({
  auth: { schemes: { s: scheme() }, require: [{ s: ["go"] }] },
  trustProxy: ["127.0.0.1/32", "::1/128"],
});

overEveryWire((_, wire) => {
  // No proxy stands before a call within the process.
  const here = Object.entries(rows).filter(([name]) => wire !== "in-process" || !name.includes("proxy"));
  it.each(here)("the scheme %s lets in callers with the right credential alone", async (_, row) => {
    const principals: Principal[] = [];
    await using served = await startAgent(wire, {
      ...optionsOf(row),
      async agent({ principal }) {
        principals.push(principal);
        return reply("welcome");
      },
    });
    const send = (headers: Headers) => served.transport.sendMessage(say("go"), { headers });
    const credentials = { no: {}, ...row.credentials() };
    const answers: Record<string, string> = {};
    for (const [kind, headers] of Object.entries(credentials)) {
      if (kind !== "right") answers[kind] = (await errorOf(send(headers))).code;
    }
    const expected = Object.keys(answers).map((kind) => [
      kind,
      kind === "right without the scope" ? "permissionDenied" : "unauthenticated",
    ]);
    expect(answers).toEqual(Object.fromEntries(expected));
    expect(principals).toEqual([]);
    await send(row.credentials()["right"] ?? {});
    expect(principals).toEqual([expect.objectContaining({ owner: row.owner(), scheme: "s", scopes: ["go"] })]);
  });
});

/** The scheme in the form of each version; 0.1 has names alone. */
const declared: Readonly<
  Record<string, readonly [newest: object, older: object | undefined, oldest: readonly string[]]>
> = {
  "an API key in a header": [
    { apiKeySecurityScheme: { location: "header", name: "X-Key" } },
    { type: "apiKey", in: "header", name: "X-Key" },
    ["ApiKey"],
  ],
  "an API key in a cookie": [
    { apiKeySecurityScheme: { location: "cookie", name: "key" } },
    { type: "apiKey", in: "cookie", name: "key" },
    ["ApiKey"],
  ],
  "a password": [{ httpAuthSecurityScheme: { scheme: "Basic" } }, { type: "http", scheme: "Basic" }, ["Basic"]],
  "a JWT": [
    { httpAuthSecurityScheme: { scheme: "Bearer", bearerFormat: "JWT" } },
    { type: "http", scheme: "Bearer", bearerFormat: "JWT" },
    ["Bearer"],
  ],
  "OAuth with a JWT": [{ oauth2SecurityScheme: {} }, { type: "oauth2" }, ["OAuth2"]],
  "OAuth with introspection": [{ oauth2SecurityScheme: {} }, { type: "oauth2" }, ["OAuth2"]],
  "OpenID Connect": [{ openIdConnectSecurityScheme: {} }, { type: "openIdConnect" }, ["OAuth2"]],
  "a certificate that a proxy reports": [{ mtlsSecurityScheme: {} }, { type: "mutualTLS" }, []],
};

interface ShownCard {
  readonly securitySchemes?: { readonly s?: object };
  readonly securityRequirements?: object;
  readonly security?: object;
  readonly authentication?: { readonly schemes: readonly string[] };
}

describe("the card", () => {
  it.each(Object.entries(rows))("the card declares %s, and what is required, in each version", async (name, row) => {
    await using served = await startAgent("JSONRPC", { ...optionsOf(row), agent: async () => reply("welcome") });
    const cardOf = async (version: string) => {
      const url = `${served.server.url}/.well-known/agent-card.json`;
      return (await (await fetch(url, { headers: { "a2a-version": version } })).json()) as ShownCard;
    };
    const [newest, older, oldest] = declared[name] ?? [];
    expect(await cardOf("1.0")).toMatchObject({
      securitySchemes: { s: newest },
      securityRequirements: [{ schemes: { s: { list: ["go"] } } }],
    });
    // 0.2 has no word for certificates.
    for (const version of name.includes("certificate") ? ["0.3"] : ["0.3", "0.2"]) {
      expect(await cardOf(version)).toMatchObject({ securitySchemes: { s: older }, security: [{ s: ["go"] }] });
    }
    expect((await cardOf("0.1")).authentication?.schemes ?? []).toEqual(oldest);
  });
});
