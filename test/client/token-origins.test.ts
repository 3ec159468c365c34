import { describe, expect, it } from "vitest";
import type { OAuthSecret } from "../../src/auth/credential-options.js";
import { Client } from "../../src/client/node.js";
import { type AuthorizationServer, authorizationServer, tokenAnswer } from "../auth/authorization-server.js";
import { clientCredentials, oauth2, openIdConnect, timerOf } from "../auth/sources.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { cardServer } from "./support/card-server.js";
import { cardOf, interfaceAt } from "./support/cards.js";
import { securedAgent } from "./support/secured-agent.js";

// Which servers a client's secret is sent to. A card may name any.

const wellKnown = "/.well-known/openid-configuration";
const schemes = {
  "the token endpoint": (url: string) => clientCredentials(`${url}/token`),
  "the OpenID Connect document": (url: string) => openIdConnect(url + wellKnown),
  "the device authorization endpoint": (url: string) =>
    oauth2({ deviceCode: { deviceAuthorizationUrl: `${url}/device`, tokenUrl: `${url}/token`, scopes: {} } }),
};

/** A provider with all endpoints. Its first token expires at once. */
async function provider(tokenEndpoint?: string): Promise<AuthorizationServer> {
  const server: AuthorizationServer = await authorizationServer(({ path }) => {
    if (path === wellKnown) {
      return { json: { issuer: server.url, token_endpoint: tokenEndpoint ?? `${server.url}/token` } };
    }
    if (path !== "/device") return tokenAnswer("t", { refresh_token: "r" });
    return {
      json: { device_code: "d", user_code: "U", verification_uri: "https://login.example", expires_in: 600 },
    };
  });
  return server;
}

/** A server of an agent's card that names the scheme. */
async function agentWith(scheme: object) {
  const agent = await securedAgent("authorization", (shown) => shown === "Bearer t");
  const card = cardOf([interfaceAt("JSONRPC", agent.url)], {
    securitySchemes: { login: { ...scheme } },
    securityRequirements: [{ schemes: { login: { list: [] } } }],
  });
  const cards = await cardServer({ "/card.json": card });
  return {
    card,
    url: `${cards.url}/card.json`,
    agent,
    async [Symbol.asyncDispose]() {
      await cards[Symbol.asyncDispose]();
      await agent[Symbol.asyncDispose]();
    },
  };
}

const secret: OAuthSecret = { clientId: "ada", clientSecret: "s3cret" };
const refusalOf = (origin: string) => ({
  code: "unauthenticated",
  message: expect.stringContaining(`list ${origin} in trustedOrigins of the credential`),
});

describe.each(Object.entries(schemes))("%s of another origin than the card's", (what, schemeAt) => {
  const login: OAuthSecret = what.startsWith("the device") ? { ...secret, deviceCode: () => {} } : secret;

  it("a token endpoint of another origin than the card's is not called", async () => {
    await using server = await provider();
    await using served = await agentWith(schemeAt(server.url));
    await using client = await Client.connect(served.url, { credentials: { login } });
    await expect(client.send("say")).rejects.toMatchObject(refusalOf(server.url));
    expect(server.requests).toHaveLength(0);
    expect(served.agent.shown).toHaveLength(0);
  });

  it("a token endpoint of another origin than the card's is called when it is listed", async () => {
    await using server = await provider();
    await using served = await agentWith(schemeAt(server.url));
    const clock = createVirtualClock();
    const credentials = { login: { ...login, trustedOrigins: [server.url] } };
    await using client = await Client.connect(served.url, { credentials, clock });
    const answer = client.send("say");
    if (login.deviceCode !== undefined) {
      await timerOf(clock, 5000);
      await clock.advance(5000);
    }
    await answer;
    expect(served.agent.shown).toEqual(["Bearer t"]);
  });
});

it("a token endpoint at the card's own origin is called", async () => {
  await using agent = await securedAgent("authorization", (shown) => shown === "Bearer t");
  await using cards = await cardServer({
    "/token": (_, response) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ access_token: "t", token_type: "Bearer" })),
    "/card.json": (_, response) => response.end(JSON.stringify(card)),
  });
  const card = cardOf([interfaceAt("JSONRPC", agent.url)], {
    securitySchemes: { login: clientCredentials(`${cards.url}/token`) },
    securityRequirements: [{ schemes: { login: { list: [] } } }],
  });
  await using client = await Client.connect(`${cards.url}/card.json`, { credentials: { login: secret } });
  await client.send("say");
  expect(cards.paths).toContain("/token");
});

it("a card that the caller brings along makes no origin a trusted one", async () => {
  await using server = await provider();
  await using served = await agentWith(clientCredentials(`${server.url}/token`));
  await using client = await Client.connect(served.card, { credentials: { login: secret } });
  await expect(client.send("say")).rejects.toMatchObject(refusalOf(server.url));
  expect(server.requests).toHaveLength(0);
});

it("a token endpoint that a trusted document names elsewhere is not called", async () => {
  await using other = await provider();
  await using server = await provider(`${other.url}/token`);
  await using served = await agentWith(openIdConnect(server.url + wellKnown));
  const credentials = { login: { ...secret, trustedOrigins: [server.url] } };
  await using client = await Client.connect(served.url, { credentials });
  await expect(client.send("say")).rejects.toMatchObject(refusalOf(other.url));
  expect(other.requests).toHaveLength(0);
});

it("a refresh token goes to no other origin", async () => {
  await using other = await provider();
  await using server = await provider();
  await using served = await agentWith(clientCredentials(`${server.url}/token`, `${other.url}/refresh`));
  const clock = createVirtualClock();
  const credentials = { login: { ...secret, trustedOrigins: [server.url] } };
  await using client = await Client.connect(served.url, { credentials, clock });
  await client.send("say");
  await clock.advance(3600_000);
  await expect(client.send("say")).rejects.toMatchObject(refusalOf(other.url));
  expect(other.requests).toHaveLength(0);
});
