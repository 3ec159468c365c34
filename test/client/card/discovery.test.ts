import { create } from "@bufbuild/protobuf";
import { describe, expect, it, vi } from "vitest";
import { cardUrls } from "../../../src/client/card/discovery.js";
import { Client } from "../../../src/client/node.js";
import { AgentCardSchema } from "../../../src/protocol/model.js";
import { answered, type CardAnswer, cardServer } from "../support/card-server.js";
import { cardOf, interfaceAt } from "../support/cards.js";
import { ruled, rules } from "../support/stand-ins.js";

const newPath = "/.well-known/agent-card.json";
const oldPath = "/.well-known/agent.json";
const entry = interfaceAt("JSONRPC", "http://127.0.0.1:9");
const card = cardOf([entry]);
const uncached = { cardCache: false } as const;
const textHtml = { "content-type": "text/html" };

describe("the card of an agent", () => {
  it.each([
    ["at the well-known path", "/", { [newPath]: card }, [newPath]],
    ["at the older path", "/", { [oldPath]: card }, [newPath, oldPath]],
    ["below a base path", "/a/b/", { [`/a/b${newPath}`]: card }, [`/a/b${newPath}`]],
    ["below a base path, at the older path", "/a", { [`/a${oldPath}`]: card }, [`/a${newPath}`, `/a${oldPath}`]],
    [
      "at the origin",
      "/a",
      { [newPath]: cardOf([interfaceAt("JSONRPC", "http://127.0.0.1:9/a")]) },
      [`/a${newPath}`, `/a${oldPath}`, newPath],
    ],
    ["at a URL of its own", "/cards/7.json?v=1", { "/cards/7.json?v=1": card }, ["/cards/7.json?v=1"]],
  ])("the card of an agent is found %s", async (_, path, answers: Record<string, CardAnswer>, paths) => {
    await using server = await cardServer(answers);
    await using client = await Client.connect(new URL(path, server.url), uncached);
    expect(client.card.name).toBe("Declared");
    expect(server.paths).toEqual(paths);
    expect(server.requests[0]?.headers.accept).toBe("application/json");
  });

  it.each([
    ["the path of one of its interfaces", "/a/json-rpc"],
    ["a path above one", "/a/"],
  ])("the card at the origin is taken for %s", async (_, path) => {
    const other = interfaceAt("GRPC", "127.0.0.1:9");
    await using server = await cardServer({ [newPath]: cardOf([other, interfaceAt("JSONRPC", "http://h/a")]) });
    await using client = await Client.connect(new URL(path, server.url), uncached);
    expect(client.card.name).toBe("Declared");
  });

  it.each(["/weater", "/a/json", "/a/json-rpc/more"])("the card at the origin is not taken for %s", async (path) => {
    const interfaces = [interfaceAt("JSONRPC", "http://h/a"), interfaceAt("GRPC", "127.0.0.1:9")];
    await using server = await cardServer({ [newPath]: cardOf(interfaces) });
    await expect(Client.connect(new URL(path, server.url), uncached)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(
        `the card at ${server.url}${newPath} is of "Declared", which has no interface at or below ${path}: to call that agent, give ${server.url}`,
      ),
    });
  });

  it.each([
    ["JSON", card],
    ["a message", create(AgentCardSchema, { name: "Declared", supportedInterfaces: [{ url: "http://h" }] })],
  ])("the card of an agent can be given as %s", async (_, location) => {
    await using client = await Client.connect(location);
    expect(client.card.name).toBe("Declared");
    expect(await client.refreshCard()).toBe(client.card);
  });

  it("the search for a card skips a place where a page or broken text is served instead", async () => {
    await using server = await cardServer({
      [`/a${newPath}`]: answered(200, textHtml, "<p>hello"),
      [`/a${oldPath}`]: answered(200, {}, "{"),
      [newPath]: cardOf([interfaceAt("JSONRPC", "http://127.0.0.1:9/a")]),
    });
    await using client = await Client.connect(`${server.url}/a`, uncached);
    expect(client.card.name).toBe("Declared");
  });

  it("the card of an agent is requested with the caller's headers", async () => {
    await using server = await cardServer({ [newPath]: card });
    await using _client = await Client.connect(server.url, { headers: { "X-Port": "7" } });
    expect(server.requests[0]?.headers["x-port"]).toBe("7");
  });
});

describe("an invalid address", () => {
  it("the address of a card is one of the page's own origin when a page gives a path", () => {
    vi.stubGlobal("location", { href: "https://shop.example/chat?x=1" });
    expect(cardUrls("/agents/pilot")[0]).toBe(`https://shop.example/agents/pilot${newPath}`);
    expect(cardUrls("https://agent.example")[0]).toBe(`https://agent.example${newPath}`);
    vi.unstubAllGlobals();
    expect(() => cardUrls("/agents/pilot")).toThrow(TypeError);
  });

  it.each(["agent.example", "localhost:41241", "ftp://agent.example/", "", "file:///etc/passwd"])(
    "the invalid address %j is refused",
    (url) => {
      expect(() => cardUrls(url)).toThrow(
        new TypeError(`the agent must be an http or https URL, not ${JSON.stringify(url)}`),
      );
    },
  );

  it("an invalid address is refused without its password in the message", async () => {
    const connecting = Client.connect("https://user:s3cret@agent.example/x.json");
    await expect(connecting).rejects.toThrow("the URL of the agent at agent.example has credentials");
    await expect(connecting).rejects.not.toThrow("s3cret");
  });
});

describe("an agent without a card", () => {
  it("an agent without a card is unavailable, and the error lists each URL's answer", async () => {
    await using server = await cardServer({ [newPath]: answered(403), [oldPath]: answered(500) });
    await expect(Client.connect(server.url)).rejects.toMatchObject({
      code: "unavailable",
      message: `no agent card: ${server.url}${newPath} answered with HTTP status 403; ${server.url}${oldPath} answered with HTTP status 500`,
    });
  });

  it("an agent that answers with pages has no card", async () => {
    const page = answered(200, textHtml, "<!doctype html>");
    await using server = await cardServer({ [newPath]: page, [oldPath]: page });
    await expect(Client.connect(server.url)).rejects.toMatchObject({
      code: "invalidAgentResponse",
      message: expect.stringContaining(`${server.url}${oldPath}: the agent's answer is not JSON`),
    });
  });

  it("an agent that refuses connections is unavailable", async () => {
    await using server = await ruled(rules["refuses connections"]);
    await expect(Client.connect(server.origin, { retry: false })).rejects.toMatchObject({
      code: "unavailable",
      written: false,
    });
  });

  it("an agent that closes the socket is not asked again for its card without retries", async () => {
    await using closing = await ruled(rules["closes the socket"]);
    await expect(Client.connect(closing.origin, { retry: false })).rejects.toMatchObject({ code: "unavailable" });
    expect(closing.connections).toBe(1);
  });
});

describe("a card that cannot be called", () => {
  it("a card that cannot be called is refused with every fault and its place", async () => {
    const broken = {
      name: 7,
      version: "1",
      capabilities: { streaming: "yes" },
      skills: [{ id: "s", tags: "t" }],
      supportedInterfaces: [
        { url: "", protocolBinding: "JSONRPC" },
        { url: "http://a", protocolBinding: 3 },
      ],
    };
    await using server = await cardServer({ [newPath]: answered(200, {}, "nothing"), [oldPath]: broken });
    const error = await Client.connect(server.url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalidAgentResponse" });
    const { violations } = error as { violations: readonly { field: string; description: string }[] };
    const fields = violations.map(({ field }) => field);
    expect(fields).toEqual(
      expect.arrayContaining([
        "name",
        "description",
        "capabilities.streaming",
        "skills[0].name",
        "skills[0].tags",
        "supportedInterfaces[0].url",
        "supportedInterfaces[1].protocolBinding",
      ]),
    );
    expect(new Set(fields).size).toBe(fields.length);
  });

  it.each([
    ["a list", [], "must be a JSON object, not an array"],
    ["without interfaces", { name: "x" }, "supportedInterfaces"],
  ])("a card is refused when it is %s", async (_, json, says) => {
    await using server = await cardServer({ "/card.json": json });
    await expect(Client.connect(`${server.url}/card.json`)).rejects.toMatchObject({
      code: "invalidAgentResponse",
      message: expect.stringContaining(says),
    });
  });

  it("a card with only broken skills can be called", async () => {
    const broken = { ...card, skills: "none", version: 3, supportedInterfaces: [{ url: "" }, entry, 5] };
    await using client = await Client.connect(broken);
    expect(client.card.supportedInterfaces.map(({ url }) => url)).toEqual([entry["url"]]);
  });
});
