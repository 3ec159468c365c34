import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../src/client/node.js";
import type { ConnectOptions } from "../../src/client/options.js";
import { bindings } from "./cases.js";
import { collect, send, taskOf } from "./client-cases.js";
import { oldGo, oldJs } from "./old-js-and-go.js";
import { oldPythons } from "./old-python.js";
import { olderAgents, type RunningAgent, sdkAgents, startAgent, titleOf } from "./sdk-agents.js";

// Agents on the official SDKs that demand a token or a key, by middleware of their own, and say so in their card.

// In CI a missing SDK is a failure instead of a skip.
const complete = process.env["CI"] !== undefined;

const demands = { token: "the-right-token", key: "the-right-key" };
const ofV1 = [...sdkAgents, ...olderAgents].map((sdk) => ({ sdk, title: titleOf(sdk), version: "1.0", bindings }));
const ofJsAndGo = [...oldJs, ...oldGo].map(({ agent, name, ...rest }) => ({ sdk: agent, title: name, ...rest }));
// The card of FastA2A cannot say what it demands.
const ofPython = oldPythons.flatMap(({ agent, distribution, release, version, agentBindings }) =>
  agent === undefined || version === "0.1"
    ? []
    : [{ sdk: agent, title: `${distribution} ${release}`, version, bindings: agentBindings }],
);
const agents = [...ofV1, ...ofJsAndGo, ...ofPython];

const refused = { code: "unauthenticated" };

describe.each(agents)("our client and an agent on $title that demands credentials", ({ sdk, version, bindings }) => {
  if (!sdk.installed && !complete) {
    it.skip("is not installed: bash test/interop/setup.sh");
    return;
  }

  // The Go SDK writes scopes as a bare list, in its extended card too.
  if (version === "1.0") {
    it("an agent that demands credentials publishes scopes that our client reads", async () => {
      await using client = await Client.connect(agent.url, { grpcTls: false });
      const requirements = [{ schemes: { token: { list: ["read"] } } }, { schemes: { key: { list: [] } } }];
      expect(client.card.securityRequirements).toMatchObject(requirements);
      const ofSkill = sdk.name === "Go" ? [{ schemes: { token: { list: ["play"] } } }] : [];
      expect(client.card.skills[0]?.securityRequirements ?? []).toMatchObject(ofSkill);
    });
  }
  if (version === "1.0" && sdk.name === "Go") {
    it.each(bindings)(
      "an agent that demands credentials has an extended card whose scopes our client reads, over %s",
      async (binding) => {
        const options = { prefer: [binding], grpcTls: false, credentials: { token: demands.token } } as const;
        await using client = await Client.connect(agent.url, options);
        const extended = await client.getExtendedAgentCard({});
        expect(client.connection?.binding).toBe(binding);
        expect(extended.securityRequirements).toMatchObject([
          { schemes: { token: { list: ["read"] } } },
          { schemes: { key: { list: [] } } },
        ]);
        expect(extended.skills[0]?.securityRequirements).toMatchObject([{ schemes: { token: { list: ["play"] } } }]);
      },
    );
  }

  // Before 0.2 schemes have no names but their kinds.
  const names = version === "0.1" ? { token: "bearer", key: "apikey" } : { token: "token", key: "key" };
  let agent: RunningAgent;

  beforeAll(async () => {
    agent = await startAgent(sdk, demands);
  });

  afterAll(() => agent?.[Symbol.asyncDispose]());

  describe.each(bindings)("over %s", (binding) => {
    async function connected(credentials: ConnectOptions["credentials"]): Promise<Client> {
      const options = { retry: false, grpcTls: false } as const;
      await using reader = await Client.connect(agent.url, options);
      const supportedInterfaces = reader.card.supportedInterfaces.filter((each) => each.protocolBinding === binding);
      return Client.connect({ ...reader.card, supportedInterfaces }, { ...options, credentials });
    }

    it.each(["token", "key"] as const)(
      "our client sends, streams and gets with the %s that the card asks for",
      async (scheme) => {
        await using client = await connected({ [names[scheme]]: demands[scheme] });
        const { id } = await taskOf(client, send("task"));
        expect(await collect(client.sendStreamingMessage(send("task")))).not.toEqual([]);
        expect((await client.getTask({ id })).id).toBe(id);
      },
    );

    it("our client is refused without credentials", async () => {
      await using client = await connected(undefined);
      await expect(client.sendMessage(send("task"))).rejects.toMatchObject(refused);
    });

    it.each([
      ["token", "an-old-token"],
      ["key", "an-old-key"],
    ] as const)("our client is refused with a %s that the agent does not know", async (scheme, secret) => {
      await using client = await connected({ [names[scheme]]: secret });
      await expect(client.sendMessage(send("task"))).rejects.toMatchObject(refused);
      await expect(collect(client.sendStreamingMessage(send("task")))).rejects.toMatchObject(refused);
      await expect(client.getTask({ id: "none" })).rejects.toMatchObject(refused);
    });
  });
});
