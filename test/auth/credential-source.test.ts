import { describe, expect, it } from "vitest";
import { credentialSource } from "../../src/auth/credential-source.js";
import type { Credential } from "../../src/auth/credentials.js";
import {
  apiKey,
  cardWith,
  clientCredentials,
  credentialFor,
  errorOf,
  http,
  oauth2,
  offline,
  openIdConnect,
  refusal,
} from "./sources.js";

const tokenUrl = "https://login.example/token";

describe("a scheme", () => {
  it.each([
    ["an API key in a header", apiKey("header", "X-Port-Key"), "k 1", { headers: { "x-port-key": "k 1" } }],
    ["an API key in the query", apiKey("query", "key"), "k&é", { query: { key: "k&é" } }],
    ["an API key in a cookie", apiKey("cookie", "port"), "k1", { headers: { cookie: "port=k1" } }],
    ["HTTP bearer", http("Bearer"), "t", { headers: { authorization: "Bearer t" } }],
    ["HTTP bearer in small letters", http("bearer"), "t", { headers: { authorization: "Bearer t" } }],
    ["HTTP of another kind", http("Token"), "t", { headers: { authorization: "Token t" } }],
    [
      "HTTP basic",
      http("basic"),
      { username: "adä", password: "p:w" },
      { headers: { authorization: `Basic ${btoa("ad\u00c3\u00a4:p:w")}` } },
    ],
    ["OAuth2, with a token", oauth2({ authorizationCode: {} }), "t", { headers: { authorization: "Bearer t" } }],
    [
      "OpenID Connect, with a token",
      openIdConnect("https://login.example"),
      "t",
      { headers: { authorization: "Bearer t" } },
    ],
    [
      "HTTP bearer, with a token that changes",
      http("Bearer"),
      async () => "t",
      { headers: { authorization: "Bearer t" } },
    ],
  ])("a scheme is met: %s", async (_, scheme, secret, credential) => {
    const material = await credentialFor(cardWith({ s: scheme }, { s: [] }), { s: secret });
    expect(material).toEqual({ headers: {}, query: {}, ...credential });
  });

  it.each([
    ["an API key in no place", apiKey("body", "key"), "k", 'in a place that does not exist: "body"'],
    [
      "an API key in a header of no name",
      apiKey("header", "a b"),
      "k",
      'in a place that does not exist: "header", "a b"',
    ],
    [
      "an API key without a string",
      apiKey("header", "X-Key"),
      { username: "a", password: "b" },
      'needs an API key (header "X-Key")',
    ],
    ["HTTP basic without a name", http("Basic"), "t", "needs { username, password }"],
    ["HTTP bearer without a token", http("Bearer"), undefined, "needs a string for HTTP Bearer"],
    ["HTTP of no form", http("a b"), "t", "no known form"],
    [
      "OAuth2 of another flow",
      clientCredentials(tokenUrl),
      { clientId: "c", deviceCode: () => {} },
      "has the OAuth2 flow clientCredentials, what is given is for deviceCode",
    ],
    [
      "OAuth2 by a browser",
      oauth2({ authorizationCode: {} }),
      { clientId: "c" },
      "has the OAuth2 flow authorizationCode",
    ],
    [
      "OAuth2 without a client",
      clientCredentials(tokenUrl),
      { username: "a", password: "b" },
      "needs a token, or { clientId",
    ],
    ["mTLS without a certificate", { mtlsSecurityScheme: {} }, "t", "needs a client certificate"],
    ["one of no kind", {}, "t", "is not a security scheme of the card"],
  ])("a scheme is not met, which only the agent's refusal shows: %s", async (_, scheme, secret, reason) => {
    const source = credentialSource(cardWith({ s: scheme }, { s: [] }), { s: secret }, offline);
    expect(await source.get(undefined)).toBeUndefined();
    const refused = refusal('Basic realm="port"');
    const error = await errorOf(source.renew(undefined, refused, undefined));
    expect(error).toMatchObject({ code: "unauthenticated", cause: refused, challenge: 'Basic realm="port"' });
    expect(error.message).toMatch(/what its card asks for: "s" /);
    expect(error.message).toContain(reason);
  });

  it("a scheme is met by the connection's certificate", async () => {
    const card = cardWith({ cert: { mtlsSecurityScheme: {} }, key: apiKey("query", "k") }, { cert: [], key: [] });
    expect(await credentialFor(card, { key: "1" }, { certificates: true })).toEqual({ headers: {}, query: { k: "1" } });
    expect(await credentialFor(card, { key: "1" })).toBeUndefined();
  });
});

describe("a card", () => {
  const schemes = {
    a: apiKey("header", "X-A"),
    b: apiKey("query", "b"),
    c: apiKey("cookie", "c"),
    d: apiKey("cookie", "d"),
  };

  it("a card gets every secret of its first requirement when all are available", async () => {
    const card = cardWith(schemes, { a: [], b: [] }, { c: [], d: [] }, { a: [] });
    expect(await credentialFor(card, { a: "1", b: "2", c: "3", d: "4" })).toEqual({
      headers: { "x-a": "1" },
      query: { b: "2" },
    });
    expect(await credentialFor(card, { a: "1", c: "3", d: "4" })).toEqual({
      headers: { cookie: "c=3; d=4" },
      query: {},
    });
    expect(await credentialFor(card, { a: "1", c: "3" })).toEqual({ headers: { "x-a": "1" }, query: {} });
    expect(await credentialFor(card, { b: "2", c: "3" })).toBeUndefined();
  });

  it("a card that also admits anonymous callers gets the secret that is available", async () => {
    const card = cardWith(schemes, {}, { a: [] });
    expect(await credentialFor(card, { a: "1" })).toEqual({ headers: { "x-a": "1" }, query: {} });
    expect(await credentialFor(card, {})).toBeUndefined();
  });

  it("a card without requirements gets what its first scheme with a secret asks for", async () => {
    expect(await credentialFor(cardWith(schemes), { c: "3", b: "2" })).toEqual({ headers: {}, query: { b: "2" } });
  });

  it("a card never gets a secret for a scheme that it does not have", async () => {
    expect(await credentialFor(cardWith({}), { a: "1", bearer: "t", apiKey: "k" })).toBeUndefined();
    expect(await credentialFor(cardWith({ a: http("Bearer") }, { toString: [] }), { a: "1" })).toBeUndefined();
  });

  it("a card cannot ask for two secrets in one place", async () => {
    const card = cardWith({ a: http("Bearer"), b: http("Basic") }, { a: [], b: [] });
    const source = credentialSource(card, { a: "t", b: { username: "u", password: "p" } }, offline);
    expect(await source.get(undefined)).toBeUndefined();
    expect((await errorOf(source.renew(undefined, refusal(), undefined))).message).toContain("wants the same place");
  });

  it("a card that asks for nothing leaves a refusal as it is", async () => {
    expect(
      await credentialSource(cardWith({}), { a: "1" }, offline).renew(undefined, refusal(), undefined),
    ).toBeUndefined();
  });

  it("a card with many requirements makes no long message", async () => {
    const requirements = Array.from({ length: 200 }, (_, place) => ({ ["n".repeat(500) + place]: [] }));
    const error = await errorOf(
      credentialSource(cardWith({}, ...requirements), {}, offline).renew(undefined, refusal(), undefined),
    );
    expect(error.message).toContain("192 more");
    expect(error.message.length).toBeLessThan(2000);
  });
});

describe("a short name", () => {
  it("a short name of a scheme means the only one of its kind", async () => {
    const card = cardWith({ jwt: http("Bearer"), key: apiKey("query", "k") }, { jwt: [], key: [] });
    const credential = { headers: { authorization: "Bearer t" }, query: { k: "1" } };
    expect(await credentialFor(card, { bearer: "t", apiKey: "1" })).toEqual(credential);
  });

  it("a short name of a scheme means nothing when there are two of the kind", async () => {
    const card = cardWith({ one: http("Bearer"), two: http("bearer") }, { one: [] });
    expect(await credentialFor(card, { bearer: "t" })).toBeUndefined();
  });

  it("a short name gives way to a scheme of that name, and to a secret for the scheme itself", async () => {
    const card = cardWith({ bearer: apiKey("query", "k"), jwt: http("Bearer") }, { bearer: [] });
    expect(await credentialFor(card, { bearer: "1" })).toEqual({ headers: {}, query: { k: "1" } });
    for (const options of [
      { jwt: "mine", bearer: "t" },
      { bearer: "t", jwt: "mine" },
    ]) {
      const material = await credentialFor(cardWith({ jwt: http("Bearer") }, { jwt: [] }), options);
      expect(material?.headers).toEqual({ authorization: "Bearer mine" });
    }
  });
});

describe("a refusal", () => {
  const card = cardWith({ s: http("Bearer") }, { s: [] });

  it("a refusal leads to no second try with the same secret", async () => {
    const source = credentialSource(card, { s: "t" }, offline);
    expect(await source.renew(await source.get(undefined), refusal(), undefined)).toBeUndefined();
  });

  it("a refusal gives a call that was sent without a credential what is available", async () => {
    const source = credentialSource(card, { s: "t" }, offline);
    expect((await source.renew(undefined, refusal(), undefined))?.headers).toEqual({ authorization: "Bearer t" });
  });

  it("a refusal calls a credential function again and uses its new value", async () => {
    let token = "old";
    const source = credentialSource(card, { s: () => token }, offline);
    const refused = await source.get(undefined);
    expect(await source.renew(refused, refusal(), undefined)).toBeUndefined();
    token = "new";
    expect((await source.renew(refused, refusal(), undefined))?.headers).toEqual({ authorization: "Bearer new" });
  });
});

describe("a provider", () => {
  it("a provider of credentials is asked for every call, and once more when it was refused", async () => {
    const contexts: unknown[] = [];
    const card = cardWith({});
    const source = credentialSource(
      card,
      (context): Credential => {
        contexts.push(context);
        return { headers: { authorization: `Mine ${contexts.length}` } };
      },
      offline,
    );
    const { signal } = new AbortController();
    const refused = await source.get(signal);
    const error = refusal();
    expect(await source.renew(refused, error, signal)).toEqual({ headers: { authorization: "Mine 2" } });
    expect(contexts).toEqual([
      { card, refused: undefined, signal },
      { card, refused: error, signal },
    ]);
  });

  it("a provider of credentials that returns the same again is not tried again", async () => {
    const source = credentialSource(cardWith({}), () => ({ headers: { a: "1" } }), offline);
    expect(await source.renew(await source.get(undefined), refusal(), undefined)).toBeUndefined();
  });

  it("a provider of credentials is not waited for when the call is aborted", async () => {
    const source = credentialSource(cardWith({}), () => new Promise(() => {}), offline);
    const { signal, ...call } = abortable();
    const waiting = source.get(signal);
    call.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await expect(source.get(signal)).rejects.toThrow("enough");
  });
});

function abortable() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason: Error) => controller.abort(reason) };
}
