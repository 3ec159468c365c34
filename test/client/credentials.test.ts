import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { CredentialOptions, DeviceCodePrompt } from "../../src/auth/credential-options.js";
import { Client } from "../../src/client/node.js";
import { authorizationServer, tokenAnswer } from "../auth/authorization-server.js";
import { apiKey, clientCredentials, http, oauth2, openIdConnect, timerOf } from "../auth/sources.js";
import { itemsOf } from "../support/items.js";
import { localTls } from "../support/tls.js";
import { createVirtualClock } from "../support/virtual-clock.js";
import { allBindings, cardOf, interfaceAt } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";
import { result, rpcServer } from "./support/rpc-server.js";
import { securedAgent } from "./support/secured-agent.js";

/** A card's entries for one scheme. */
const asking = (scheme: JsonObject, scopes: readonly string[] = []): JsonObject => ({
  securitySchemes: { port: scheme },
  securityRequirements: [{ schemes: { port: { list: [...scopes] } } }],
});

const basic = `Basic ${btoa("ada:l0ve")}`;

describe.each(allBindings)("over %s", (binding) => {
  // A gRPC status cannot carry a challenge.
  const challenge = binding === "GRPC" ? undefined : 'Bearer realm="port"';

  // Requirements: V03-AUTH-3, V03-AUTH-5
  it.each<[string, JsonObject, CredentialOptions, string, string]>([
    ["an API key in a header", apiKey("header", "X-Port-Key"), { port: "k1" }, "x-port-key", "k1"],
    ["an API key in a cookie", apiKey("cookie", "port"), { port: "k1" }, "cookie", "port=k1"],
    ["an API key by its short name", apiKey("header", "X-Port-Key"), { apiKey: "k1" }, "x-port-key", "k1"],
    ["HTTP bearer", http("Bearer"), { bearer: () => "t1" }, "authorization", "Bearer t1"],
    ["HTTP basic", http("Basic"), { port: { username: "ada", password: "l0ve" } }, "authorization", basic],
  ])("the agent receives %s, in each kind of call", async (_, scheme, credentials, name, value) => {
    await using agent = await securedAgent(name, (shown) => shown === value);
    const card = cardOf([interfaceAt(binding, agent.url)], asking(scheme));
    await using client = await Client.connect(card, { credentials });
    await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "taskNotFound" });
    await client.send("say");
    await itemsOf(client.stream("say"));
    expect(agent.runs).toBe(2);
    expect(agent.shown).toEqual([value, value, value]);
  });

  it.each(["read", "send", "stream"] as const)("a challenge is answered once: %s", async (call) => {
    await using agent = await securedAgent("authorization", (shown) => shown === "Bearer fresh");
    const tokens = ["stale", "fresh"];
    const credentials = { port: () => tokens.shift() ?? "fresh" };
    await using client = await Client.connect(cardOf([interfaceAt(binding, agent.url)], asking(http("bearer"))), {
      credentials,
    });
    if (call === "read") await expect(client.getTask({ id: "x" })).rejects.toMatchObject({ code: "taskNotFound" });
    else if (call === "send") await client.send("say");
    else await itemsOf(client.stream("say"));
    expect(agent.shown).toEqual(["Bearer stale", "Bearer fresh"]);
    expect(agent.runs).toBe(call === "read" ? 0 : 1);
  });

  it.each(["send", "stream"] as const)("a second challenge is the answer: %s", async (call) => {
    await using agent = await securedAgent("authorization", () => false);
    let tokenCount = 0;
    const card = cardOf([interfaceAt(binding, agent.url)], asking(http("bearer")));
    await using client = await Client.connect(card, { credentials: { port: () => `t${tokenCount++}` } });
    const outcome = call === "send" ? client.send("say") : itemsOf(client.stream("say"));
    await expect(outcome).rejects.toMatchObject({ code: "unauthenticated", challenge });
    expect(agent.shown).toEqual(["Bearer t0", "Bearer t1"]);
    expect(agent.runs).toBe(0);
  });

  it("a provider of credentials receives the challenge, and may return no credential", async () => {
    await using agent = await securedAgent("authorization", () => false);
    const refusals: (string | undefined)[] = [];
    await using client = await Client.connect(cardOf([interfaceAt(binding, agent.url)]), {
      credentials({ refused }) {
        refusals.push(refused?.challenge);
        return refused === undefined ? { headers: { authorization: "Bearer t" } } : undefined;
      },
    });
    await expect(client.send("say")).rejects.toMatchObject({ code: "unauthenticated" });
    expect(refusals).toEqual([undefined, challenge]);
    expect(agent.shown).toHaveLength(1);
  });

  it("the caller's own headers override those the card requires", async () => {
    await using agent = await securedAgent("authorization", () => true);
    const card = cardOf([interfaceAt(binding, agent.url)], asking(http("bearer")));
    const credentials = { port: "of-the-card" };
    await using client = await Client.connect(card, { credentials });
    await client.send("say", { headers: { Authorization: "Bearer of-the-call" } });
    await using other = await Client.connect(card, { credentials, headers: { Authorization: "Bearer of-the-client" } });
    await other.send("say");
    await other.send("say", { headers: { authorization: "Bearer of-the-call" } });
    expect(agent.shown).toEqual(["Bearer of-the-call", "Bearer of-the-client", "Bearer of-the-call"]);
  });
});

it("an API key goes into the query if the card requires it", async () => {
  await using server = await rpcServer(result({ id: "x" }));
  const card = { ...server.card, ...asking(apiKey("query", "key")) };
  await using client = await Client.connect(card, { credentials: { port: "k&1" } });
  await client.getTask({ id: "x" });
  await client.getTask({ id: "x" }, { query: { key: "mine" } });
  expect(server.requests.map(({ url }) => url)).toEqual(["/json-rpc?key=k%261", "/json-rpc?key=mine"]);
});

it.each(["JSONRPC", "GRPC"] as const)("a certificate is shown to an agent that asks for one: %s", async (binding) => {
  const { cert, key } = localTls;
  await using agent = await countingAgent({
    tls: { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true },
  });
  const origin = `https://localhost:${agent.port}`;
  const card = cardOf([interfaceAt(binding, origin)], asking({ mtlsSecurityScheme: {} }));
  await using nameless = await Client.connect(card, { tls: { ca: cert }, retry: false });
  await expect(nameless.send("say")).rejects.toMatchObject({ code: "unavailable" });
  expect(agent.runs).toBe(0);
  await using client = await Client.connect(card, { tls: { ca: cert, cert, key }, credentials: {} });
  await client.send("say");
  expect(agent.runs).toBe(1);
});

describe("a token", () => {
  it("a token is requested by client credentials once for many calls, and again when refused", async () => {
    let right = "t1";
    await using agent = await securedAgent("authorization", (shown) => shown === `Bearer ${right}`);
    await using server = await authorizationServer((_, place) => tokenAnswer(`t${place}`));
    const scheme = clientCredentials(`${server.url}/token`);
    const card = cardOf([interfaceAt("JSONRPC", agent.url)], asking(scheme, ["berths"]));
    const credentials = { port: { clientId: "ada", clientSecret: "s3cret", trustedOrigins: [server.url] } };
    await using client = await Client.connect(card, { credentials });
    await Promise.all([client.send("say"), client.send("say")]);
    expect(server.requests.map(({ form }) => form["scope"])).toEqual(["berths"]);
    right = "t2";
    await client.send("say");
    expect(agent.shown).toEqual(["Bearer t1", "Bearer t1", "Bearer t1", "Bearer t2"]);
    expect(server.requests).toHaveLength(2);
  });

  it("a token is requested at the endpoint from OpenID Connect discovery", async () => {
    await using agent = await securedAgent("authorization", (shown) => shown === "Bearer t");
    await using server = await authorizationServer(({ path }) =>
      path === "/token" ? tokenAnswer("t") : { json: { issuer: server.url, token_endpoint: `${server.url}/token` } },
    );
    const scheme = openIdConnect(`${server.url}/.well-known/openid-configuration`);
    const card = cardOf([interfaceAt("GRPC", agent.url)], asking(scheme));
    const credentials = { port: { clientId: "ada", clientSecret: "s", trustedOrigins: [server.url] } };
    await using client = await Client.connect(card, { credentials });
    await client.send("say");
    expect(agent.shown).toEqual(["Bearer t"]);
  });

  it("a token is requested from the user once, also when the extended card replaces the public one", async () => {
    const clock = createVirtualClock();
    const prompt = { device_code: "d", user_code: "U-1", verification_uri: "https://login.example", expires_in: 600 };
    await using login = await authorizationServer(({ path }) =>
      path === "/token" ? tokenAnswer("t") : { json: prompt },
    );
    const flow = { deviceAuthorizationUrl: `${login.url}/device`, tokenUrl: `${login.url}/token`, scopes: {} };
    await using server = await rpcServer(
      (response, request) => result({ ...card, name: "Extended" })(response, request),
      result({ id: "x" }),
    );
    const capabilities = { streaming: true, extendedAgentCard: true };
    const card: JsonObject = { ...server.card, ...asking(oauth2({ deviceCode: flow })), capabilities };
    const prompts: DeviceCodePrompt[] = [];
    const connecting = Client.connect(card, {
      clock,
      credentials: {
        port: { clientId: "ada", trustedOrigins: [login.url], deviceCode: (shown) => void prompts.push(shown) },
      },
    });
    await timerOf(clock, 5000);
    await clock.advance(5000);
    await using client = await connecting;
    expect(client.card.name).toBe("Extended");
    await client.getTask({ id: "x" });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer t", "Bearer t"]);
    expect(prompts.map(({ userCode }) => userCode)).toEqual(["U-1"]);
  });

  it("a missing token fails the call before any request", async () => {
    await using agent = await securedAgent("authorization", () => true);
    await using server = await authorizationServer(() => ({ status: 400, json: { error: "invalid_client" } }));
    const card = cardOf([interfaceAt("JSONRPC", agent.url)], asking(clientCredentials(server.url)));
    await using client = await Client.connect(card, {
      credentials: { port: { clientId: "ada", clientSecret: "s3cret", trustedOrigins: [server.url] } },
    });
    await expect(client.send("say")).rejects.toMatchObject({ code: "unauthenticated" });
    expect(agent.shown).toEqual([]);
    expect(server.requests).not.toHaveLength(0);
  });
});
