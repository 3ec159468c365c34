import { describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import type { ClientOptions } from "../../src/client/options.js";
import { authorizationServer, tokenAnswer } from "../auth/authorization-server.js";
import { clientCredentials } from "../auth/sources.js";
import { agentElsewhere, declared, key } from "./support/agent-elsewhere.js";
import { cardServer } from "./support/card-server.js";
import { allBindings, cardOf, interfaceAt } from "./support/cards.js";
import { result, rpcServer } from "./support/rpc-server.js";

// Which interfaces a client's secrets are sent to. A card may name any.

const anywhere: ClientOptions = { allowPrivate: true, allowPlaintext: true };
const secrets: Readonly<Record<string, ClientOptions>> = {
  "a credential by its scheme": { credentials: { port: "k" } },
  "a credential of a function": { credentials: () => ({ headers: { [key]: "k" } }) },
  "a header of the card's API key": { headers: { "X-Port-Key": "k" } },
  "an authorization header": { headers: { authorization: "Bearer k" } },
};
const refused = (origin: string) => ({
  code: "unavailable",
  message: expect.stringContaining(`secrets go to 127.0.0.1 only, unless trustedOrigins lists ${origin}`),
});

describe.each(allBindings)("an interface of %s at another host than the card's", (binding) => {
  it.each(Object.entries(secrets))(
    "an interface at another host than the card's is not called with %s",
    async (_, options) => {
      await using served = await agentElsewhere(binding);
      await using client = await Client.connect(served.url, { ...anywhere, ...options });
      await expect(client.send("say")).rejects.toMatchObject(refused(served.origin));
      expect(served.agent.shown).toEqual([]);
    },
  );

  it("an interface at another host is not called with a header of one call", async () => {
    await using served = await agentElsewhere(binding);
    await using client = await Client.connect(served.url, anywhere);
    const call = client.send("say", { headers: { cookie: "session=1" } });
    await expect(call).rejects.toMatchObject(refused(served.origin));
    expect(served.agent.shown).toEqual([]);
  });

  it("an interface at another host is not called with a parameter of one call that holds a secret", async () => {
    await using served = await agentElsewhere(binding);
    await using client = await Client.connect(served.url, anywhere);
    const call = client.operations.getTask(
      { $typeName: "lf.a2a.v1.GetTaskRequest", id: "x", tenant: "" },
      { query: { [key]: "k" } },
    );
    await expect(call).rejects.toMatchObject(refused(served.origin));
    expect(served.agent.shown).toEqual([]);
  });

  it.each([key, "X-Access-Token", "my-secret"])(
    "an interface at another host is not called with %s, which its card does not declare",
    async (name) => {
      await using served = await agentElsewhere(binding, { declares: false });
      await using client = await Client.connect(served.url, { ...anywhere, headers: { [name]: "k" } });
      await expect(client.send("say")).rejects.toMatchObject(refused(served.origin));
      expect(served.agent.shown).toEqual([]);
    },
  );

  it("an interface at another host is called with secrets when it is trusted", async () => {
    await using served = await agentElsewhere(binding);
    const options = { ...anywhere, credentials: { port: "k" }, trustedOrigins: [served.origin] };
    await using client = await Client.connect(served.url, options);
    expect((await client.send("say")).text).toBe("said");
  });

  it("an interface at another host is called without secrets, and with headers that are none", async () => {
    await using served = await agentElsewhere(binding);
    await using client = await Client.connect(served.url, { ...anywhere, headers: { "x-trace": "1" } });
    await expect(client.send("say")).rejects.toMatchObject({ code: "unauthenticated" });
    expect(new Set(served.agent.shown)).toEqual(new Set([undefined]));
  });

  it("an interface at another host is passed over for one at the host of the card", async () => {
    await using served = await agentElsewhere(binding, { ownToo: true });
    await using client = await Client.connect(served.url, { ...anywhere, credentials: { port: "k" } });
    expect((await client.send("say")).text).toBe("said");
    expect(client.connection?.url).toContain("127.0.0.1");
    expect(new Set(served.agent.shown)).toEqual(new Set(["k"]));
  });
});

it("a client signs in for no interface that would not get the token", async () => {
  await using served = await agentElsewhere("JSONRPC", { declares: false });
  await using login = await authorizationServer(() => tokenAnswer("t"));
  const scheme = clientCredentials(login.url);
  const security = { securitySchemes: { port: scheme }, securityRequirements: [{ schemes: { port: { list: [] } } }] };
  await using cards = await cardServer({
    "/card.json": cardOf([interfaceAt("JSONRPC", served.origin)], security),
  });
  const credentials = { port: { clientId: "ada", clientSecret: "s", trustedOrigins: [login.url] } };
  await using client = await Client.connect(`${cards.url}/card.json`, { ...anywhere, credentials });
  await expect(client.send("say")).rejects.toMatchObject(refused(served.origin));
  expect(login.requests).toEqual([]);
});

it("a client sends secrets to the interfaces of a card that the caller gives", async () => {
  await using served = await agentElsewhere("HTTP+JSON");
  await using client = await Client.connect(served.card, { ...anywhere, credentials: { port: "k" } });
  expect((await client.send("say")).text).toBe("said");
});

it("a client does not send secrets to what the extended card of a given card lists elsewhere", async () => {
  await using served = await agentElsewhere("JSONRPC");
  const extended = cardOf([interfaceAt("JSONRPC", served.origin)], declared);
  await using own = await rpcServer(result(extended));
  const capabilities = { streaming: true, extendedAgentCard: true };
  await using client = await Client.connect(
    { ...own.card, ...declared, capabilities },
    { ...anywhere, credentials: { port: "k" } },
  );
  expect(client.card.supportedInterfaces.map(({ url }) => url)).toEqual([`${served.origin}/json-rpc`]);
  await expect(client.send("say")).rejects.toMatchObject(refused(served.origin));
  expect(served.agent.shown).toEqual([]);
});

it.each([["agent.example"], ["https://agent.example/a"], [3]])(
  "trusting secrets to %j is refused, since it is no origin",
  async (origin) => {
    const options = { trustedOrigins: [origin] } as ClientOptions;
    await expect(Client.connect("http://127.0.0.1:1", options)).rejects.toThrow(
      'Client.connect(): trustedOrigins[0] must be an origin such as "https://agent.example"',
    );
  },
);
