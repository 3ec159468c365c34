import { gateway } from "trivium";
import { describe, expect, it } from "vitest";
import { createCardCache } from "../../src/client/card/card-cache.js";
import { Client } from "../../src/client/node.js";
import { Client as WebClient } from "../../src/client/web.js";
import { rawCall } from "../support/http-agent.js";
import { countingAgent } from "./support/counting-agent.js";

const uncached = { cardCache: false } as const;
const placesOf = ({ card }: { readonly card: Client["card"] }) =>
  card.supportedInterfaces.map(({ protocolVersion, protocolBinding }) => `${protocolBinding} ${protocolVersion}`);

/** A `fetch` that records the version declared in each card request. */
function noting(versionHeaders: (string | null)[]): typeof globalThis.fetch {
  return (input, init) => {
    if (String(input).includes("/.well-known/")) versionHeaders.push(new Headers(init?.headers).get("a2a-version"));
    return fetch(input, init);
  };
}

describe("an interface that the card does not list", () => {
  it.each(["1.0", "0.3", "0.2", "0.1"])(
    "an unlisted interface is not listed for callers that declare %s, nor for callers without a version",
    async (version) => {
      await using agent = await countingAgent();
      for (const headers of [{}, { "A2A-Version": version }]) {
        const { text } = await rawCall(`${agent.url}/.well-known/agent-card.json`, { method: "GET", headers });
        const { supportedInterfaces = [] } = JSON.parse(text) as {
          supportedInterfaces?: { protocolVersion: string }[];
        };
        expect(supportedInterfaces.filter((each) => each.protocolVersion < "0.3")).toEqual([]);
      }
    },
  );

  it.each([
    ["0.2", Client],
    ["0.1", Client],
    ["0.2", WebClient],
    ["0.1", WebClient],
  ] as const)(
    "an unlisted interface is found in the card of its version by a client of %s",
    async (version, { connect }) => {
      await using agent = await countingAgent();
      const versionHeaders: (string | null)[] = [];
      await using client = await connect(agent.url, {
        ...uncached,
        versions: [version],
        fetch: noting(versionHeaders),
      });
      expect(await client.send("go")).toMatchObject({ state: "completed" });
      expect(client.connection).toMatchObject({ binding: "JSONRPC", version, url: `${agent.url}/json-rpc` });
      expect(versionHeaders).toEqual([null, version]);
    },
  );

  it("an unlisted interface is found again after a refetch", async () => {
    await using agent = await countingAgent();
    await using client = await Client.connect(agent.url, { versions: ["0.2"], cardCache: createCardCache() });
    await client.refreshCard();
    await client.send("go");
    expect(placesOf(client)).toEqual(["JSONRPC 0.2"]);
  });

  it("an unlisted interface is not looked for by clients that can call a listed one", async () => {
    await using agent = await countingAgent();
    const versionHeaders: (string | null)[] = [];
    const options = { ...uncached, fetch: noting(versionHeaders) };
    await using all = await Client.connect(agent.url, options);
    await using two = await Client.connect(agent.url, { ...options, versions: ["0.3", "0.2"] });
    expect([placesOf(all).filter((place) => place.endsWith("0.2")), placesOf(two).length]).toEqual([[], 8]);
    expect(versionHeaders).toEqual([null, null]);
  });

  it("an unlisted interface is found when no listed interface has a binding of the client", async () => {
    await using agent = await countingAgent({ versions: ["1.0", "0.2"] });
    const newest = { binding: "JSONRPC", versions: ["0.2"] };
    const versionHeaders: (string | null)[] = [];
    const without = ["HTTP+JSON", "GRPC", "CONNECT"];
    const none = () => Promise.reject(new Error("is not called"));
    await using own = await Client.connect(agent.url, { ...uncached, versions: ["0.2"] });
    const transports = without.map((binding) => ({ binding, versions: [], create: none }));
    await using client = await Client.connect(agent.url, {
      ...uncached,
      fetch: noting(versionHeaders),
      transports: [...transports, { ...newest, create: () => Promise.resolve(own.operations) }],
    });
    await client.send("go");
    expect([versionHeaders, client.connection?.version]).toEqual([[null, "0.2"], "0.2"]);
  });

  it("the search for an unlisted interface leaves the card unchanged when there is none", async () => {
    await using agent = await countingAgent({ versions: ["1.0"] });
    await using client = await Client.connect(agent.url, { ...uncached, versions: ["0.2", "0.1"] });
    expect(new Set(placesOf(client).map((place) => place.split(" ")[1]))).toEqual(new Set(["1.0"]));
    await expect(client.send("go")).rejects.toThrow("the option `versions` excludes the version");
  });

  it("an unlisted interface is called by a gateway configured for its version, and cached separately", async () => {
    await using agent = await countingAgent();
    const cardCache = createCardCache();
    await using newest = await Client.connect(agent.url, { cardCache });
    await using front = await gateway({
      upstream: agent.url,
      port: 0,
      drainMs: 0,
      client: { versions: ["0.2"], cardCache },
    });
    await using client = await Client.connect(front.url, uncached);
    await client.send("go");
    expect(front.upstream?.version).toBe("0.2");
    await using again = await Client.connect(agent.url, { cardCache });
    expect(again.card).toBe(newest.card);
  });
});

describe("a gRPC address given as a URL", () => {
  it("a gRPC address given as a URL is listed unchanged for every version with gRPC, and can be called", async () => {
    await using first = await countingAgent({ bindings: ["GRPC"] });
    const publicGrpc = `http://127.0.0.1:${first.port}`;
    await using agent = await countingAgent({ publicGrpc });
    const { text } = await rawCall(`${agent.url}/.well-known/agent-card.json`, { method: "GET" });
    const card = JSON.parse(text) as {
      supportedInterfaces: { protocolBinding: string; url: string; protocolVersion: string }[];
      additionalInterfaces: { transport: string; url: string }[];
    };
    const listed = card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === "GRPC");
    expect(listed.map(({ url, protocolVersion }) => [protocolVersion, url])).toEqual([
      ["1.0", publicGrpc],
      ["0.3", publicGrpc],
    ]);
    expect(card.additionalInterfaces).toContainEqual({ transport: "GRPC", url: publicGrpc });
    for (const version of ["1.0", "0.3"] as const) {
      await using client = await Client.connect(agent.url, { ...uncached, versions: [version], prefer: ["GRPC"] });
      await client.send("go");
      expect(client.connection).toMatchObject({ binding: "GRPC", url: publicGrpc });
    }
    expect([first.runs, agent.runs]).toEqual([2, 0]);
  });
});
