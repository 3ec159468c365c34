import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { answered, cardServer } from "../support/card-server.js";
import { cardOf, interfaceAt } from "../support/cards.js";

const newPath = "/.well-known/agent-card.json";
const card = cardOf([interfaceAt("JSONRPC", "http://127.0.0.1:9")]);
const uncached = { cardCache: false } as const;

describe("the limits of discovery", () => {
  it.each([
    ["that says its size", { "content-length": "2000" }],
    ["that does not", {}],
  ])("discovery refuses an oversized card, one %s", async (_, headers) => {
    await using server = await cardServer({ [newPath]: answered(200, headers, " ".repeat(2000)) });
    await expect(Client.connect(server.url, { limits: { cardMaxBytes: 1000 } })).rejects.toMatchObject({
      code: "contentTooLarge",
      message: "the agent's answer is over the limit of 1000 bytes (cardMaxBytes)",
    });
  });

  it("discovery limits the time of the whole search", async () => {
    await using server = await cardServer({ [newPath]: () => {} });
    await expect(Client.connect(server.url, { limits: { cardTimeoutMs: 50 } })).rejects.toMatchObject({
      code: "deadlineExceeded",
      message: `no agent card from ${server.url}${newPath} within 50 ms`,
    });
  });

  it("discovery times out for a card that never completes", async () => {
    await using server = await cardServer({ [newPath]: (_, response) => void response.writeHead(200).write("{") });
    await expect(Client.connect(server.url, { limits: { cardTimeoutMs: 50 } })).rejects.toMatchObject({
      code: "deadlineExceeded",
    });
  });

  it.each(["HTTP+JSON", "CONNECT"] as const)("discovery holds no process up with a long URL of %s", async (binding) => {
    const url = `http://127.0.0.1:9${"/".repeat(1_000_000)}x`;
    const listed = cardOf([interfaceAt(binding, url)]);
    const startedAt = performance.now();
    await using client = await Client.connect(listed, { prefer: [binding], retry: false });
    await expect(client.send("hello")).rejects.toMatchObject({ code: "unavailable" });
    // A look at each rest of the slashes took minutes.
    expect(performance.now() - startedAt).toBeLessThan(30_000);
  });

  it("discovery lets the caller abort", async () => {
    const breaking = new AbortController();
    await using server = await cardServer({ [newPath]: () => breaking.abort(new Error("no longer wanted")) });
    await expect(Client.connect(server.url, { signal: breaking.signal })).rejects.toThrow("no longer wanted");
  });

  it("discovery follows a few redirects", async () => {
    await using server = await cardServer({
      [newPath]: answered(302, { location: "/1" }),
      "/1": answered(307, { location: "/2" }),
      "/2": card,
    });
    await using client = await Client.connect(server.url, uncached);
    expect(client.card.name).toBe("Declared");
    expect(server.paths).toEqual([newPath, "/1", "/2"]);
  });

  it("discovery does not follow redirect loops", async () => {
    await using server = await cardServer({ "/card.json": answered(302, { location: "/card.json" }) });
    await expect(Client.connect(`${server.url}/card.json`)).rejects.toMatchObject({
      code: "invalidAgentResponse",
      message: expect.stringContaining("more than 5 redirects"),
    });
    expect(server.paths).toHaveLength(6);
  });

  it("discovery sends none of the caller's headers to another origin", async () => {
    await using other = await cardServer({ "/card": card });
    await using server = await cardServer({ [newPath]: answered(302, { location: `${other.url}/card` }) });
    await using _client = await Client.connect(server.url, {
      headers: { authorization: "Bearer s3cret", "x-key": "s3cret" },
    });
    expect(server.requests[0]?.headers.authorization).toBe("Bearer s3cret");
    expect(JSON.stringify(other.requests[0]?.headers)).not.toContain("s3cret");
  });
});
