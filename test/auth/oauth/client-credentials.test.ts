import { describe, expect, it } from "vitest";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { type Answer, authorizationServer, errorAnswer, tokenAnswer } from "../authorization-server.js";
import { bearer, clientSource, errorOf, refusal } from "../sources.js";

const counted = (more: Readonly<Record<string, unknown>> = {}) =>
  authorizationServer((_, place) => tokenAnswer(`t${place}`, more));

const insufficient = (scope: string) =>
  refusal(`Bearer error="insufficient_scope", scope="${scope}"`, "permissionDenied");

describe("the token request", () => {
  it("the token request authenticates the client by HTTP Basic, each half form-encoded", async () => {
    await using server = await counted();
    const source = clientSource(
      `${server.url}/token`,
      { clientId: "a b", clientSecret: "p:ä" },
      { scopes: ["x", "y"] },
    );
    expect(await source.get(undefined)).toEqual(bearer("t1"));
    const { method, path, headers, form } = server.requests[0] ?? {};
    expect([method, path, form]).toEqual(["POST", "/token", { grant_type: "client_credentials", scope: "x y" }]);
    expect(headers?.authorization).toBe(`Basic ${btoa("a+b:p%3A%C3%A4")}`);
    expect(headers?.accept).toBe("application/json");
  });

  it("the token request authenticates the client in the form when configured, with further fields", async () => {
    await using server = await counted();
    const secret = { authentication: "client_secret_post", parameters: { audience: "port" } } as const;
    await clientSource(server.url, secret).get(undefined);
    const { headers, form } = server.requests[0] ?? {};
    expect(headers?.authorization).toBeUndefined();
    expect(form).toEqual({
      grant_type: "client_credentials",
      audience: "port",
      client_id: "berth",
      client_secret: "s3cret-of-berth",
    });
  });

  it("the token request of a client without a secret sends only its id", async () => {
    await using server = await counted();
    await clientSource(server.url, { clientSecret: undefined }).get(undefined);
    expect(server.requests[0]?.form).toEqual({ grant_type: "client_credentials", client_id: "berth" });
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  it("the token request goes only to trusted origins, if any are configured", async () => {
    await using server = await counted();
    const elsewhere = clientSource(server.url, { trustedOrigins: ["https://login.example"] });
    const error = await errorOf(elsewhere.get(undefined));
    expect(error.message).toBe(
      `the token endpoint ${server.url}/ is not trusted with the client's secret, only https://login.example is: list ${server.url} in trustedOrigins of the credential`,
    );
    expect(server.requests).toHaveLength(0);
    await clientSource(server.url, { trustedOrigins: [server.url] }).get(undefined);
    expect(server.requests).toHaveLength(1);
  });

  it("the token request does not go over plaintext to another machine unless that is allowed", async () => {
    const called: string[] = [];
    const fetch = async (url: string | URL | Request): Promise<Response> => {
      called.push(String(url));
      return Response.json({ access_token: "t", token_type: "bearer" });
    };
    const error = await errorOf(clientSource("http://login.example/token?x=1", {}, { fetch }).get(undefined));
    expect(error).toMatchObject({ code: "unauthenticated" });
    expect(error.message).toBe(
      "the token endpoint http://login.example/token is not https, and plaintext is not allowed",
    );
    expect(called).toEqual([]);
    await clientSource("http://login.example/token", {}, { fetch, allowPlaintext: true }).get(undefined);
    await clientSource("https://login.example/token", {}, { fetch }).get(undefined);
    expect(called).toEqual(["http://login.example/token", "https://login.example/token"]);
  });

  it("the token request that is refused names the OAuth error", async () => {
    await using server = await authorizationServer(() => errorAnswer("invalid_client", 401));
    const error = await errorOf(clientSource(server.url).get(undefined));
    expect(error).toMatchObject({ code: "unauthenticated", metadata: { oauthError: "invalid_client" } });
    expect(error.message).toBe(`the token endpoint ${server.url}/ refused: invalid_client`);
  });

  it("the token request is sent again after one that failed", async () => {
    await using server = await authorizationServer((_, place) =>
      place === 1 ? errorAnswer("server_error", 500) : tokenAnswer("t"),
    );
    const source = clientSource(server.url);
    await errorOf(source.get(undefined));
    expect(await source.get(undefined)).toEqual(bearer("t"));
  });
});

describe("a token", () => {
  it("a token is kept until shortly before it expires", async () => {
    await using server = await counted({ expires_in: 600 });
    const clock = createVirtualClock();
    const source = clientSource(server.url, {}, { clock });
    expect(await source.get(undefined)).toEqual(bearer("t1"));
    await clock.advance(569_999);
    expect(await source.get(undefined)).toEqual(bearer("t1"));
    await clock.advance(1);
    expect(await source.get(undefined)).toEqual(bearer("t2"));
    expect(clock.pending()).toEqual([]);
  });

  it("a token of a short life is kept for nine tenths of it", async () => {
    await using server = await counted({ expires_in: "10" });
    const clock = createVirtualClock();
    const source = clientSource(server.url, {}, { clock });
    await source.get(undefined);
    await clock.advance(8999);
    expect(await source.get(undefined)).toEqual(bearer("t1"));
    await clock.advance(1);
    expect(await source.get(undefined)).toEqual(bearer("t2"));
  });

  it("a token without an expiry is kept until it is refused, one with a distant expiry for a day", async () => {
    await using server = await authorizationServer((_, place) =>
      tokenAnswer(`t${place}`, { expires_in: place === 1 ? undefined : 1e300 }),
    );
    const clock = createVirtualClock();
    const source = clientSource(server.url, {}, { clock });
    const first = await source.get(undefined);
    await clock.advance(10 * 86_400_000);
    expect(await source.get(undefined)).toEqual(first);
    expect(await source.renew(first, refusal(), undefined)).toEqual(bearer("t2"));
    await clock.advance(86_400_000);
    expect(await source.get(undefined)).toEqual(bearer("t3"));
  });

  it("a token is asked for once by all calls that wait for it", async () => {
    await using server = await counted();
    const source = clientSource(server.url);
    const credentials = await Promise.all(Array.from({ length: 20 }, () => source.get(undefined)));
    expect(credentials).toEqual(credentials.map(() => bearer("t1")));
    expect(server.requests).toHaveLength(1);
  });

  it("a token is renewed once for all calls that were refused with it", async () => {
    await using server = await counted();
    const source = clientSource(server.url);
    const refused = await source.get(undefined);
    const renew = () => source.renew(refused, refusal(), undefined);
    expect(await Promise.all([renew(), renew(), renew()])).toEqual([bearer("t2"), bearer("t2"), bearer("t2")]);
    expect(await renew()).toEqual(bearer("t2"));
    expect(server.requests).toHaveLength(2);
  });

  it("a token is not waited for by a call that has been aborted, and the others get it", async () => {
    const release = Promise.withResolvers<void>();
    await using server = await authorizationServer(async () => {
      await release.promise;
      return tokenAnswer("t");
    });
    const source = clientSource(server.url);
    const leaving = new AbortController();
    const left = source.get(leaving.signal);
    const staying = source.get(new AbortController().signal);
    await server.received(1);
    leaving.abort(new Error("enough"));
    await expect(left).rejects.toThrow("enough");
    release.resolve();
    expect(await staying).toEqual(bearer("t"));
    expect(server.requests).toHaveLength(1);
  });

  it("a token is given up when the last call that waits has been aborted", async () => {
    await using server = await authorizationServer((_, place) => (place === 1 ? () => {} : tokenAnswer("t")));
    const clock = createVirtualClock();
    const source = clientSource(server.url, {}, { clock });
    const leaving = new AbortController();
    const left = source.get(leaving.signal);
    await server.received(1);
    leaving.abort(new Error("enough"));
    await expect(left).rejects.toThrow("enough");
    await server.requests[0]?.closed;
    expect(clock.pending()).toEqual([]);
    expect(await source.get(undefined)).toEqual(bearer("t"));
  });
});

describe("a refusal", () => {
  it("a refusal that is no challenge of the token changes nothing", async () => {
    await using server = await counted();
    const source = clientSource(server.url);
    const refused = await source.get(undefined);
    expect(await source.renew(refused, refusal(undefined, "permissionDenied"), undefined)).toBeUndefined();
    expect(await source.get(undefined)).toEqual(refused);
  });

  it("a refusal of a token for its scopes is answered by a token that has them too", async () => {
    await using server = await counted({ refresh_token: "r" });
    const source = clientSource(server.url, {}, { scopes: ["read"] });
    const refused = await source.get(undefined);
    expect(await source.renew(refused, insufficient("read write"), undefined)).toEqual(bearer("t2"));
    expect(server.requests[1]?.form).toEqual({ grant_type: "client_credentials", scope: "read write" });
    expect(await source.renew(bearer("t2"), insufficient("write"), undefined)).toBeUndefined();
    expect(server.requests).toHaveLength(2);
  });

  it.each<[string, Answer, boolean]>([
    ["does not grant", errorAnswer("invalid_scope"), false],
    ["cannot grant now", { status: 503, json: {} }, true],
  ])("a refusal for scopes that the server %s leaves other calls their token", async (_, answer, again) => {
    await using server = await authorizationServer(({ form }, place) =>
      form["scope"] === "read" ? tokenAnswer(`t${place}`) : answer,
    );
    const source = clientSource(server.url, {}, { scopes: ["read"] });
    const refused = await source.get(undefined);
    await errorOf(source.renew(refused, insufficient("admin"), undefined));
    expect(await source.get(undefined)).toEqual(refused);
    // A server that has said no is not asked for these scopes again.
    const next = source.renew(refused, insufficient("admin"), undefined);
    if (again) expect((await errorOf(next)).code).toBe("unavailable");
    else expect(await next).toBeUndefined();
    expect(server.requests).toHaveLength(again ? 3 : 2);
    expect(await source.renew(refused, refusal(), undefined)).toEqual(bearer(`t${server.requests.length}`));
  });

  it("a refusal of a token adds 64 scopes at most, whatever the agent names", async () => {
    await using server = await counted();
    const source = clientSource(server.url, {}, { scopes: ["read"] });
    let current = await source.get(undefined);
    for (const round of [0, 1]) {
      const more = Array.from({ length: 32 }, (_, place) => `more-${round * 32 + place}`).join(" ");
      current = await source.renew(current, insufficient(more), undefined);
    }
    expect(server.requests.at(-1)?.form["scope"]?.split(" ")).toHaveLength(65);
    expect(await source.renew(current, insufficient("one-more"), undefined)).toBeUndefined();
  });

  it("a refusal of a token cannot widen scopes that the caller has chosen", async () => {
    await using server = await counted();
    const source = clientSource(server.url, { scopes: ["read"] }, { scopes: ["all"] });
    const refused = await source.get(undefined);
    expect(server.requests[0]?.form["scope"]).toBe("read");
    expect(await source.renew(refused, insufficient("write"), undefined)).toBeUndefined();
  });
});

describe("a refresh token", () => {
  const refresh = { grant_type: "refresh_token", refresh_token: "r1" };

  it("a refresh token is used for the next token at its own endpoint, and kept until replaced", async () => {
    await using server = await authorizationServer((_, place) =>
      tokenAnswer(`t${place}`, { expires_in: 10, refresh_token: ["r1", undefined, "r2"][place - 1] }),
    );
    const clock = createVirtualClock();
    const source = clientSource(`${server.url}/token`, {}, { clock, refreshUrl: `${server.url}/refresh` });
    for (const token of ["t1", "t2", "t3", "t4"]) {
      expect(await source.get(undefined)).toEqual(bearer(token));
      await clock.advance(10_000);
    }
    expect(server.requests.map(({ path, form }) => [path, form])).toEqual([
      ["/token", { grant_type: "client_credentials" }],
      ["/refresh", refresh],
      ["/refresh", refresh],
      ["/refresh", { ...refresh, refresh_token: "r2" }],
    ]);
  });

  it("a refresh token that is no longer accepted restarts the flow", async () => {
    await using server = await authorizationServer(({ form }, place) =>
      form["grant_type"] === "refresh_token"
        ? errorAnswer("invalid_grant")
        : tokenAnswer(`t${place}`, { refresh_token: "r1" }),
    );
    const source = clientSource(server.url);
    const refused = await source.get(undefined);
    expect(await source.renew(refused, refusal(), undefined)).toEqual(bearer("t3"));
    expect(server.requests.map(({ form }) => form["grant_type"])).toEqual([
      "client_credentials",
      "refresh_token",
      "client_credentials",
    ]);
  });

  it("a refresh token is kept when the server cannot be reached", async () => {
    await using server = await authorizationServer((_, place) =>
      place === 2 ? { status: 503, json: {} } : tokenAnswer(`t${place}`, { refresh_token: "r1" }),
    );
    const source = clientSource(server.url);
    const refused = await source.get(undefined);
    const error = await errorOf(source.renew(refused, refusal(), undefined));
    expect(error).toMatchObject({ code: "unavailable" });
    expect(await source.get(undefined)).toEqual(bearer("t3"));
    expect(server.requests[2]?.form).toEqual(refresh);
  });
});
