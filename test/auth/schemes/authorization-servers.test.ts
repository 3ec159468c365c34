import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider, { type Configuration } from "oidc-provider";
import { bearerJwt, CredentialError, type Identity, oauth2, openIdConnect, type SchemeEnvironment } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createNodeFetch, type NodeFetch } from "../../../src/binding/fetch/node-fetch.js";
import { type Logger, silentLogger } from "../../../src/protocol/logger.js";
import { createTestClock } from "../../../src/testing/test-clock.js";
import { recordingLogger } from "../../support/recording-logger.js";
import { callWith } from "./call-with.js";

// Real authorization servers: `oidc-provider`, and one that rotates its keys.

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

let fetching: NodeFetch;
beforeAll(() => {
  fetching = createNodeFetch();
});
afterAll(() => fetching.close());

const environment = (
  clock = createTestClock({ start: Date.now() }),
  logger: Logger = silentLogger,
): SchemeEnvironment => ({ fetch: fetching, foreignFetch: fetching, clock, logger });

const bearer = (token: string) => callWith({ authorization: `Bearer ${token}` });

describe("tokens of a provider", () => {
  const client = { id: "robot", secret: "not-a-real-one-but-long-enough" };
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    const { privateKey } = await generateKeyPair("ES256", { extractable: true });
    const signing = { ...(await exportJWK(privateKey)), kid: "k-1", alg: "ES256", use: "sig" };
    let provider: Provider | undefined;
    server = createServer((request, response) => provider?.callback()(request, response));
    origin = await listening(server);
    const formats: Readonly<Record<string, "jwt" | "opaque">> = { "urn:weather": "jwt", "urn:opaque": "opaque" };
    const configuration: Configuration = {
      jwks: { keys: [signing] },
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          id_token_signed_response_alg: "ES256",
          grant_types: ["client_credentials"],
          redirect_uris: [],
          response_types: [],
        },
      ],
      scopes: ["read", "write"],
      features: {
        clientCredentials: { enabled: true },
        introspection: { enabled: true, allowedPolicy: () => true },
        revocation: { enabled: true, allowedPolicy: () => true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_, indicator) => {
            const format = formats[indicator] ?? "opaque";
            const jwt = format === "jwt" ? { jwt: { sign: { alg: "ES256" as const } } } : {};
            return { scope: "read write", audience: indicator, accessTokenTTL: 600, accessTokenFormat: format, ...jwt };
          },
        },
      },
    };
    provider = new Provider(origin, configuration);
  });
  afterAll(() => closed(server));

  const basic = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString("base64")}`;

  async function post(path: string, form: Record<string, string>): Promise<Response> {
    const headers = { authorization: basic };
    return await fetch(origin + path, { method: "POST", headers, body: new URLSearchParams(form) });
  }

  async function tokenFor(resource: string): Promise<string> {
    const answer = await post("/token", { grant_type: "client_credentials", scope: "read", resource });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return token;
  }

  const robot = { subject: "robot", scopes: ["read"] };

  it("tokens of a provider are checked with the keys that the provider's metadata names", async () => {
    const discoveryUrl = `${origin}/.well-known/openid-configuration`;
    const check = openIdConnect({ discoveryUrl, audience: "urn:weather" }).open(environment());
    expect(await check(bearer(await tokenFor("urn:weather")))).toMatchObject({ ...robot, issuer: origin });
  });

  it("tokens of a provider are found by the issuer alone", async () => {
    const check = bearerJwt({ issuer: origin, audience: "urn:weather" }).open(environment());
    expect(await check(bearer(await tokenFor("urn:weather")))).toMatchObject({ ...robot, issuer: origin });
  });

  it("tokens of a provider are refused when they are for another agent", async () => {
    const check = bearerJwt({ issuer: origin, audience: "urn:travel" }).open(environment());
    const refused = await Promise.resolve(check(bearer(await tokenFor("urn:weather")))).catch(
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(CredentialError);
  });

  const flows = () => ({ clientCredentials: { tokenUrl: `${origin}/token`, scopes: { read: "Read tasks" } } });
  const introspection = (more = {}) => {
    return { endpoint: `${origin}/token/introspection`, clientId: client.id, clientSecret: client.secret, ...more };
  };

  it("opaque tokens are asked about, once while the answer is believed", async () => {
    const clock = createTestClock({ start: Date.now() });
    const check = oauth2({ flows: flows(), introspection: introspection() }).open(environment(clock));
    const token = await tokenFor("urn:opaque");
    const principal = await check(bearer(token));
    expect(principal).toMatchObject(robot);
    await post("/token/revocation", { token });
    expect(await check(bearer(token))).toBe(principal);
    await clock.advance(30_000);
    await expect(Promise.resolve(check(bearer(token)))).rejects.toThrow("the token is invalid, expired or revoked");
  });

  it("opaque tokens are refused when they are for another agent", async () => {
    const check = oauth2({ flows: flows(), introspection: introspection({ audience: "urn:travel" }) }).open(
      environment(),
    );
    const refused = Promise.resolve(check(bearer(await tokenFor("urn:opaque"))));
    await expect(refused).rejects.toThrow("the token's claim aud does not name this agent");
  });

  it("opaque tokens are asked about once by calls at the same time, and again after a refusal", async () => {
    let requestCount = 0;
    const server = createServer((_, response) => {
      requestCount += 1;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ active: requestCount > 1, sub: "robot" }));
    });
    const endpoint = `${await listening(server)}/introspection`;
    const check = oauth2({ flows: flows(), introspection: introspection({ endpoint }) }).open(environment());
    const askAll = () =>
      Promise.all(Array.from({ length: 5 }, async () => Promise.resolve(check(bearer("t"))).catch(String)));
    expect(new Set(await askAll())).toEqual(new Set(["CredentialError: the token is invalid, expired or revoked"]));
    expect(await askAll()).toEqual(Array.from({ length: 5 }, () => expect.objectContaining({ subject: "robot" })));
    expect(requestCount).toBe(2);
    await closed(server);
  });

  it("opaque tokens are refused when they are nested too deep to be walked", async () => {
    const levels = 100_000;
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"active":true,"sub":"robot","more":${"[".repeat(levels)}${"]".repeat(levels)}}`);
    });
    const endpoint = `${await listening(server)}/introspection`;
    const check = oauth2({ flows: flows(), introspection: introspection({ endpoint }) }).open(environment());
    const refused = await Promise.resolve(check(bearer("t"))).catch((error: unknown) => error);
    expect(refused).toEqual(new CredentialError("the token is nested more than 32 deep"));
    await closed(server);
  });

  it("opaque tokens cannot be checked while the provider is silent, which is not the caller's fault", async () => {
    const endpoint = `${origin}/nothing`;
    const check = oauth2({ flows: flows(), introspection: introspection({ endpoint }) }).open(environment());
    const refused = await Promise.resolve(check(bearer("t"))).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "unavailable", retryAfterMs: 1000, cause: expect.any(Error) });
  });
});

describe("keys of an issuer", () => {
  interface Pair {
    readonly kid: string;
    readonly publicKey: KeyObject;
    readonly privateKey: KeyObject;
  }
  const pair = (kid: string): Pair => ({ kid, ...generateKeyPairSync("ec", { namedCurve: "P-256" }) });

  /** An issuer whose keys may change. */
  async function rotatingIssuer() {
    let keys: readonly Pair[] = [pair("a")];
    let path = "/keys";
    let requests = 0;
    let requestCount = 0;
    let isDown = false;
    let holding: ((release: () => void) => void) | undefined;
    const server = createServer((request, response) => {
      requestCount += 1;
      if (holding !== undefined) {
        holding(() => response.writeHead(500).end());
        return;
      }
      if (isDown) {
        response.writeHead(500).end();
        return;
      }
      const listed = keys.map(({ kid, publicKey }) => ({ ...publicKey.export({ format: "jwk" }), kid, alg: "ES256" }));
      if (request.url === path) requests += 1;
      const metadata = { issuer: origin, jwks_uri: origin + path };
      const isOAuth = request.url === "/.well-known/oauth-authorization-server";
      const body = request.url === path ? { keys: listed } : isOAuth ? metadata : undefined;
      response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(body ?? {}));
    });
    const origin = await listening(server);
    const tokenBy = ({ kid, privateKey: key }: Pick<Pair, "privateKey"> & Partial<Pair>): string => {
      const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
      const claims = {
        iss: origin,
        aud: "weather",
        sub: "alice",
        exp: Date.now() / 1000 + 200_000,
        jti: Math.random(),
      };
      const input = `${encoded({ alg: "ES256", kid })}.${encoded(claims)}`;
      return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
    };
    return {
      origin,
      tokenBy,
      get keys() {
        return keys;
      },
      get requests() {
        return requests;
      },
      /** Requests of any kind, answered or not. */
      get requestCount() {
        return requestCount;
      },
      /** Lists these keys from now on. */
      list: (...those: readonly Pair[]) => {
        keys = those;
      },
      /** Moves the keys to another URL. */
      move: () => {
        path = "/moved";
      },
      fail: () => {
        isDown = true;
      },
      /** Answers nothing any longer. Resolves with the first request, to a function that ends it. */
      hold: () =>
        new Promise<() => void>((resolve) => {
          holding = resolve;
        }),
      recover: () => {
        isDown = false;
      },
      [Symbol.asyncDispose]: () => closed(server),
    };
  }

  const first = ([key]: readonly Pair[]): Pair => key ?? pair("none");

  it("keys of an issuer are found by OAuth metadata too, kept, and asked for once for unknown keys", async () => {
    await using server = await rotatingIssuer();
    const check = bearerJwt({ issuer: server.origin, audience: "weather" }).open(environment());
    const identity = async (token: string): Promise<Identity | undefined> => check(bearer(token));
    expect(await identity(server.tokenBy(first(server.keys)))).toMatchObject({ subject: "alice" });
    expect(await identity(server.tokenBy(first(server.keys)))).toMatchObject({ subject: "alice" });
    expect(server.requests).toBe(1);
    const unknown = Array.from({ length: 20 }, () => identity(server.tokenBy(pair("made-up"))).catch(String));
    for (const refused of await Promise.all(unknown)) expect(refused).toMatch(/a key that its issuer does not list/);
    expect(server.requests).toBeLessThanOrEqual(2);
  });

  it("keys of an issuer have to be named by a token only if several fit", async () => {
    await using server = await rotatingIssuer();
    const { privateKey } = first(server.keys);
    const checkOf = () => bearerJwt({ issuer: server.origin, audience: "weather" }).open(environment());
    expect(await checkOf()(bearer(server.tokenBy({ privateKey })))).toMatchObject({ subject: "alice" });
    server.list(...server.keys, pair("b"));
    await expect(checkOf()(bearer(server.tokenBy({ privateKey })))).rejects.toThrow(
      "several keys of the issuer fit: the token needs a `kid` header",
    );
  });

  it("keys of an issuer that is down cannot be read, which is logged once and not asked each time", async () => {
    await using server = await rotatingIssuer();
    server.fail();
    const check = bearerJwt({ issuer: server.origin, audience: "weather" }).open(environment());
    const ask = async () => check(bearer(server.tokenBy(first(server.keys))));
    for (let call = 0; call < 3; call++) {
      await expect(ask()).rejects.toMatchObject({ code: "unavailable", retryAfterMs: 5000 });
    }
  });

  it("keys of an issuer at a URL that is down are asked for once in a while too", async () => {
    await using server = await rotatingIssuer();
    server.fail();
    const clock = createTestClock({ start: Date.now() });
    const jwks = `${server.origin}/keys`;
    const check = bearerJwt({ issuer: server.origin, audience: "weather", jwks }).open(environment(clock));
    const ask = async () => check(bearer(server.tokenBy(first(server.keys))));
    for (let call = 0; call < 3; call++) await expect(ask()).rejects.toMatchObject({ code: "unavailable" });
    expect(server.requestCount).toBe(1);
    server.recover();
    await clock.advance(5000);
    expect(await ask()).toMatchObject({ subject: "alice" });
    expect(server.requestCount).toBe(2);
  });

  const minute = 60_000;

  /** A check with the keys of an issuer, which has read them. */
  async function checking(server: Awaited<ReturnType<typeof rotatingIssuer>>) {
    const clock = createTestClock({ start: Date.now() });
    const { log, logger } = recordingLogger();
    const check = bearerJwt({ issuer: server.origin, audience: "weather" }).open(environment(clock, logger));
    const ask = async (token = server.tokenBy(first(server.keys))) => check(bearer(token));
    await ask();
    return { clock, log, ask };
  }

  it("keys of an issuer serve while it is down, for 24 hours, and it is asked every 5 s at most", async () => {
    await using server = await rotatingIssuer();
    const { clock, log, ask } = await checking(server);
    server.fail();
    await clock.advance(10 * minute);
    const before = server.requestCount;
    for (let call = 0; call < 5; call++) expect(await ask()).toMatchObject({ subject: "alice" });
    expect(server.requestCount - before).toBe(1);
    await clock.advance(5000);
    expect(await ask()).toMatchObject({ subject: "alice" });
    await expect(ask(server.tokenBy(pair("new")))).rejects.toMatchObject({ code: "unavailable" });
    expect(log).toMatchObject([{ level: "warn", fields: { issuer: server.origin }, message: oldKeys }]);
    await clock.advance(24 * 60 * minute - 10 * minute - 5001);
    expect(await ask()).toMatchObject({ subject: "alice" });
    await clock.advance(1);
    await expect(ask()).rejects.toMatchObject({ code: "unavailable" });
  });

  it("keys of an issuer that are removed are gone with the next answer, also for believed tokens", async () => {
    await using server = await rotatingIssuer();
    const { clock, ask } = await checking(server);
    const removed = server.tokenBy(first(server.keys));
    await ask(removed);
    server.list(pair("b"));
    server.fail();
    await clock.advance(10 * minute);
    expect(await ask(removed)).toMatchObject({ subject: "alice" });
    server.recover();
    await clock.advance(2 * minute);
    await ask();
    await expect(ask(removed)).rejects.toThrow("a key that its issuer does not list");
  });

  it("keys of an issuer that no longer answers keep no call waiting once that is known", async () => {
    await using server = await rotatingIssuer();
    const { clock, ask } = await checking(server);
    server.fail();
    await clock.advance(10 * minute);
    await ask();
    await clock.advance(5000);
    const release = server.hold();
    expect(await ask()).toMatchObject({ subject: "alice" });
    (await release)();
  });

  it("keys of an issuer are found again where it has moved them", async () => {
    await using server = await rotatingIssuer();
    const { clock, ask } = await checking(server);
    server.list(pair("b"));
    server.move();
    await clock.advance(10 * minute);
    await expect(ask()).rejects.toMatchObject({ code: "unavailable" });
    await clock.advance(5000);
    expect(await ask()).toMatchObject({ subject: "alice" });
  });
});

const oldKeys = "the keys of an issuer cannot be read: those of before are used, for 24 hours at most";

const client = { clientId: "weather", clientSecret: "secret" };
const flows = { clientCredentials: { tokenUrl: "https://id.example/token", scopes: {} } };

it.each<[string, object, string]>([
  ["no check of tokens", { flows }, "oauth2: give jwt or introspection: without one of them no token is checked"],
  [
    "no flow",
    { flows: {}, introspection: { ...client, endpoint: "https://id.example/i" } },
    "oauth2: flows must have exactly one of",
  ],
  [
    "a token URL in the clear",
    {
      flows: { clientCredentials: { tokenUrl: "http://id.example/token", scopes: {} } },
      introspection: { ...client, endpoint: "https://id.example/i" },
    },
    "oauth2: flows.clientCredentials.tokenUrl must be an https URL",
  ],
  [
    "an introspection endpoint in the clear",
    { flows: {}, introspection: { ...client, endpoint: "http://id.example/i" } },
    "oauth2: introspection.endpoint must be an https URL",
  ],
])("oauth2 with %s is refused", (_, options, message) => {
  expect(() => (oauth2 as (options: object) => unknown)(options)).toThrow(message);
});
