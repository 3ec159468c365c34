import { Client, reply, serve } from "trivium";
import { openIdConnect } from "trivium/auth";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { audience, type IdentityProvider, identityProvider, robot } from "../../support/identity-provider.js";

// A client that reads in the card what it needs, against a real authorization server, in every version.

let provider: IdentityProvider;
let agent: Awaited<ReturnType<typeof serve>>;
beforeAll(async () => {
  provider = await identityProvider();
  agent = await serve({
    card: {
      name: "Weather",
      description: "Forecasts for ports",
      version: "1.0.0",
      skills: [{ id: "report", name: "Report", description: "Reports", tags: ["weather"] }],
    },
    port: 0,
    logger: false,
    bindings: ["JSONRPC", "HTTP+JSON", "GRPC", "CONNECT"],
    auth: {
      schemes: {
        user: openIdConnect({ discoveryUrl: `${provider.origin}/.well-known/openid-configuration`, audience }),
      },
      require: [{ user: ["read"] }],
      skills: { report: [{ user: ["write"] }] },
    },
    agent: async ({ principal }) => reply(`${principal.owner} may ${String(principal["scopes"])}`),
  });
});
afterAll(async () => {
  await agent.close();
  await provider[Symbol.asyncDispose]();
});

describe.each([
  ["JSONRPC", "1.0"],
  ["HTTP+JSON", "1.0"],
  ["GRPC", "1.0"],
  ["CONNECT", "1.0"],
  ["JSONRPC", "0.3"],
  ["HTTP+JSON", "0.3"],
  ["GRPC", "0.3"],
  ["JSONRPC", "0.2"],
  ["JSONRPC", "0.1"],
] as const)("a client over %s %s", (binding, version) => {
  const connect = (trustedOrigins?: readonly string[]) =>
    Client.connect(agent.url, {
      prefer: [binding],
      versions: [version],
      cardCache: false,
      credentials: { oauth: { ...robot, trustedOrigins } },
    });

  it("a client gets the token that the card requires, and more scopes when the agent asks for them", async () => {
    await using client = await connect([provider.origin]);
    // A card of 0.1 names no scopes, so the first token has none and the agent says which are missing.
    const first = version === "0.1" ? 2 : 1;
    const before = provider.paths.filter((path) => path === "/token").length;
    expect((await client.send("Hello.")).text).toBe(`${provider.origin}#robot may read`);
    expect((await client.send("Hello.")).text).toBe(`${provider.origin}#robot may read`);
    expect(provider.paths.filter((path) => path === "/token")).toHaveLength(before + first);
    const answer = await client.send("A storm.", { metadata: { skillId: "report" } });
    expect(answer.text).toBe(`${provider.origin}#robot may read,write`);
    expect(provider.paths.filter((path) => path === "/token")).toHaveLength(before + first + 1);
    expect(client.connection?.binding).toBe(binding);
    expect(client.connection?.version).toBe(version);
  });

  it("a client sends its secret to no origin that is not trusted, and says which option trusts it", async () => {
    const before = provider.paths.length;
    await using client = await connect();
    await expect(client.send("Hello.")).rejects.toThrow(`list ${provider.origin} in trustedOrigins of the credential`);
    expect(provider.paths).toHaveLength(before);
  });
});
