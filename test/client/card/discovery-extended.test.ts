import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { A2AError } from "../../../src/protocol/errors.js";
import { cardServer } from "../support/card-server.js";
import { cardOf, interfaceAt } from "../support/cards.js";
import { countingAgent } from "../support/counting-agent.js";

/** An agent whose extended card only authenticated callers see. */
const extending = () =>
  countingAgent({
    card: {
      name: "Public",
      description: "d",
      version: "1",
      extended: ({ owner }) => (owner === "ada" ? { name: "Extended" } : undefined),
    },
    authenticate(caller) {
      const owner = caller.header("x-owner");
      if (owner === undefined) throw new A2AError("unauthenticated", "who are you?");
      return { owner };
    },
  });
const as = (owner: string) => ({ credentials: () => ({ headers: { "x-owner": owner } }), cardCache: false }) as const;

describe("the extended card", () => {
  // Requirements: V03-CARDX-1, V03-CARDX-4
  it("the extended card replaces the public card for an authorized caller, also after a refetch", async () => {
    await using agent = await extending();
    await using client = await Client.connect(agent.url, as("ada"));
    expect(client.card.name).toBe("Extended");
    expect((await client.refreshCard()).name).toBe("Extended");
    await client.send("say");
    expect(agent.runs).toBe(1);
  });

  it.each([
    ["is refused", { ...as("bob") }],
    ["is not wanted", { ...as("ada"), extendedCard: false }],
    ["has no credentials", { cardCache: false }],
    ["is not known", { extendedCard: true, cardCache: false }],
  ] as const)("the public card stays for a caller of the extended card that %s", async (_, options) => {
    await using agent = await extending();
    await using client = await Client.connect(agent.url, options);
    expect(client.card.name).toBe("Public");
  });

  it("the extended card is not requested when the card declares none", async () => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { extendedCard: true });
    expect(client.connection).toBeUndefined();
  });

  it("an extended card that is unavailable does not prevent the client", async () => {
    await using silent = await cardServer({ "/json-rpc": () => {} });
    const card = cardOf([interfaceAt("JSONRPC", silent.url)], { capabilities: { extendedAgentCard: true } });
    const limits = { cardTimeoutMs: 300 };
    await using client = await Client.connect(card, { extendedCard: true, limits, allowPrivate: true });
    expect(client.card.name).toBe("Declared");
    expect(silent.paths).toEqual(["/json-rpc"]);
  });

  it("an extended card without interfaces does not replace a card with interfaces", async () => {
    await using server = await cardServer({ "/json-rpc": { jsonrpc: "2.0", id: 1, result: { name: "Hollow" } } });
    const card = cardOf([interfaceAt("JSONRPC", server.url)], { capabilities: { extendedAgentCard: true } });
    await using client = await Client.connect(card, { extendedCard: true, allowPrivate: true });
    expect(server.paths).toEqual(["/json-rpc"]);
    expect(client.card.name).toBe("Declared");
  });
});
