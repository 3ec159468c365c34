import { expect, it } from "vitest";
import type { CredentialEnvironment, OAuthSecret } from "../../../src/auth/credential-options.js";
import { credentialSource } from "../../../src/auth/credential-source.js";
import { createVirtualClock } from "../../support/virtual-clock.js";
import { type Answer, authorizationServer, tokenAnswer } from "../authorization-server.js";
import { bearer, cardWith, errorOf, openIdConnect, refusal, timerOf } from "../sources.js";

const wellKnown = "/.well-known/openid-configuration";

function source(url: string, secret: Partial<OAuthSecret> = {}, more: Partial<CredentialEnvironment> = {}) {
  const card = cardWith({ id: openIdConnect(url) }, { id: ["port"] });
  const id = { clientId: "berth", clientSecret: "hush", ...secret };
  return credentialSource(card, { id }, { fetch, cardUrl: url, ...more });
}

/** A provider whose document is computed from its own URL. */
async function provider(document: (url: string) => unknown, token: Answer = tokenAnswer("t")) {
  let url = "";
  const server = await authorizationServer(({ path }) => {
    if (path?.endsWith(wellKnown)) return { json: document(url) };
    return path === "/device"
      ? { json: { device_code: "d", user_code: "U", verification_uri: "https://login.example/", expires_in: 600 } }
      : token;
  });
  url = server.url;
  return server;
}

it.each(["", "/", "/tenant", "/tenant/"])(
  "OAuth discovery finds the token endpoint of the issuer at its path '%s'",
  async (path) => {
    await using server = await provider((url) => ({ issuer: url + path, token_endpoint: `${url}/token` }));
    const credentials = source(server.url + path.replace(/\/$/, "") + wellKnown);
    const refused = await credentials.get(undefined);
    expect(refused).toEqual(bearer("t"));
    await credentials.renew(refused, refusal(), undefined);
    expect(server.requests.map(({ path }) => path)).toEqual([path.replace(/\/$/, "") + wellKnown, "/token", "/token"]);
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
    expect(server.requests[1]?.form).toEqual({ grant_type: "client_credentials", scope: "port" });
  },
);

it("OAuth discovery finds the endpoint of the device code flow", async () => {
  await using server = await provider((url) => ({
    issuer: url,
    token_endpoint: `${url}/token`,
    device_authorization_endpoint: `${url}/device`,
  }));
  const clock = createVirtualClock();
  const waiting = source(server.url + wellKnown, { deviceCode: () => {} }, { clock }).get(undefined);
  await timerOf(clock, 5000);
  await clock.advance(5000);
  expect(await waiting).toEqual(bearer("t"));
});

it.each<[string, unknown, string]>([
  ["another issuer", { issuer: "https://other.example", token_endpoint: "https://other.example/token" }, "issuer of"],
  ["no issuer", { token_endpoint: "https://other.example/token" }, "has no issuer"],
  ["a list", [], "no JSON object"],
])("OAuth discovery refuses a document with %s", async (_, document, message) => {
  await using server = await provider(() => document);
  const error = await errorOf(source(server.url + wellKnown).get(undefined));
  expect(error).toMatchObject({ code: "unauthenticated" });
  expect(error.message).toContain(message);
});

it("OAuth discovery refuses a document without the token endpoint or device endpoint it needs", async () => {
  await using bare = await provider((url) => ({ issuer: url }));
  expect((await errorOf(source(bare.url + wellKnown).get(undefined))).message).toContain("has no token_endpoint");
  await using server = await provider((url) => ({ issuer: url, token_endpoint: `${url}/token` }));
  const error = await errorOf(source(server.url + wellKnown, { deviceCode: () => {} }).get(undefined));
  expect(error.message).toContain("no device authorization endpoint");
});

it("OAuth discovery sends no secret to a token endpoint over plaintext on another machine", async () => {
  await using server = await provider((url) => ({ issuer: url, token_endpoint: "http://login.example/token" }));
  const error = await errorOf(source(server.url + wellKnown).get(undefined));
  expect(error.message).toContain("the token endpoint http://login.example/token is not https");
});

it("OAuth discovery reads no document over plaintext from another machine", async () => {
  const error = await errorOf(source(`http://login.example${wellKnown}`).get(undefined));
  expect(error.message).toContain("is not https");
});

it("OAuth discovery fetches the document again after a failed fetch", async () => {
  let requestCount = 0;
  await using server = await provider((url) => {
    requestCount += 1;
    return requestCount === 1 ? [] : { issuer: url, token_endpoint: `${url}/token` };
  });
  const credentials = source(server.url + wellKnown);
  await errorOf(credentials.get(undefined));
  expect(await credentials.get(undefined)).toEqual(bearer("t"));
});
