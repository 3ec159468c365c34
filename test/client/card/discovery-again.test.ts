import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createCardCache } from "../../../src/client/card/card-cache.js";
import { Client } from "../../../src/client/node.js";
import { AgentCardSchema } from "../../../src/protocol/model.js";
import { cardServer } from "../support/card-server.js";
import { cardOf, interfaceAt } from "../support/cards.js";
import { countingAgent } from "../support/counting-agent.js";

const newPath = "/.well-known/agent-card.json";
const named = (name: string) => cardOf([interfaceAt("JSONRPC", "http://127.0.0.1:9")], { name });
const uncached = { cardCache: false } as const;

describe("a previously fetched card", () => {
  /** A server whose card keeps its entity tag while its name stays the same. */
  async function tagged() {
    let name = "first";
    const statuses: number[] = [];
    const server = await cardServer({
      [newPath]({ headers }, response) {
        const isSame = headers["if-none-match"] === `"${name}"`;
        statuses.push(isSame ? 304 : 200);
        response.writeHead(isSame ? 304 : 200, { etag: `"${name}"` }).end(isSame ? "" : JSON.stringify(named(name)));
      },
    });
    const rename = (to: string): void => {
      name = to;
    };
    return { server, statuses, rename };
  }

  it("a card fetched before is revalidated by its ETag, and parsed again only when it changed", async () => {
    const { server, statuses, rename } = await tagged();
    await using _server = server;
    const options = { cardCache: createCardCache() };
    await using one = await Client.connect(server.url, options);
    await using two = await Client.connect(server.url, options);
    expect(two.card).toBe(one.card);
    rename("second");
    await using three = await Client.connect(server.url, options);
    expect(three.card.name).toBe("second");
    expect(one.card.name).toBe("first");
    expect(await one.refreshCard()).toBe(three.card);
    expect(statuses).toEqual([200, 304, 200, 304]);
  });

  it("a card is not cached when the caller disables caching or sends headers", async () => {
    const { server, statuses } = await tagged();
    await using _server = server;
    const cardCache = createCardCache();
    await using _one = await Client.connect(server.url, { cardCache, headers: { "x-who": "me" } });
    await using _two = await Client.connect(server.url, { cardCache: false });
    await using _three = await Client.connect(server.url, { cardCache });
    expect(statuses).toEqual([200, 200, 200]);
  });

  it("a card is evicted from a full cache, least recently used first", () => {
    const cache = createCardCache(2);
    const cached = { card: create(AgentCardSchema), etag: "e" };
    cache.set("a", cached);
    cache.set("b", cached);
    cache.get("a");
    cache.set("c", cached);
    expect(["a", "b", "c"].filter((url) => cache.get(url) !== undefined)).toEqual(["a", "c"]);
  });

  it("a card fetched before leads to its new interfaces after a refetch", async () => {
    await using agent = await countingAgent();
    let binding: "JSONRPC" | "HTTP+JSON" = "JSONRPC";
    await using server = await cardServer({
      [newPath]: (_, response) => response.end(JSON.stringify(cardOf([interfaceAt(binding, agent.url)]))),
    });
    await using client = await Client.connect(server.url, uncached);
    await client.send("say");
    expect(client.connection?.binding).toBe("JSONRPC");
    binding = "HTTP+JSON";
    await client.refreshCard();
    await client.send("say");
    expect(client.connection?.binding).toBe("HTTP+JSON");
  });

  it("a card fetched before keeps its connections when a refetch leads to the same interface", async () => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, uncached);
    await client.send("say");
    const { connection } = client;
    const before = client.card;
    expect(await client.refreshCard()).not.toBe(before);
    expect(client.connection).toBe(connection);
  });
});
