import { createServer } from "node:net";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { addressPolicy, ForbiddenAddressError } from "../../src/binding/fetch/address-policy.js";
import { createNodeFetch } from "../../src/binding/fetch/node-fetch.js";
import { Client } from "../../src/client/node.js";
import { httpPeer } from "../binding/http-peer.js";
import { answered, cardServer } from "./support/card-server.js";
import { allBindings, cardOf, interfaceAt } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";

// Which addresses a client connects to, and what its errors reveal about them.

const newPath = "/.well-known/agent-card.json";
const internetAlone = /may not be called, only addresses of the internet \(allowPrivate\)$/;

describe("a card", () => {
  it("a card at a private address is not fetched when the policy forbids it", async () => {
    await using server = await cardServer({ [newPath]: cardOf([]) });
    const connecting = Client.connect(server.url, { allowPrivate: false });
    await expect(connecting).rejects.toBeInstanceOf(ForbiddenAddressError);
    await expect(connecting).rejects.toThrow(internetAlone);
    expect(server.requests).toHaveLength(0);
  });

  it.each(["http://10.0.0.7", "http://169.254.169.254", "http://[fd00::7]"])(
    "a card that redirects to %s is not looked for there, though the caller has ruled out nothing",
    async (place) => {
      await using server = await cardServer({ [newPath]: answered(302, { location: `${place}/latest` }) });
      const connecting = Client.connect(server.url, { limits: { connectTimeoutMs: 100 } });
      await expect(connecting).rejects.toBeInstanceOf(ForbiddenAddressError);
      await expect(connecting).rejects.toThrow(/only addresses of the internet and of this machine \(allowPrivate\)$/);
    },
  );
});

it("a redirect follows the policy of the first origin", async () => {
  await using other = await httpPeer((_, response) => response.end("other"));
  await using first = await httpPeer(({ url }, response) => {
    if (url === "/end") response.end("end");
    else response.writeHead(302, { location: url === "/near" ? "/end" : other.url }).end();
  });
  const fetch = createNodeFetch({ redirectPolicy: addressPolicy("public", "test") });
  expect(await (await fetch(`${first.url}/near`)).text()).toBe("end");
  await expect(fetch(`${first.url}/far`)).rejects.toBeInstanceOf(ForbiddenAddressError);
  expect(other.requests).toHaveLength(0);
  await fetch.close();
});

it("a custom fetch does not open other addresses to gRPC", async () => {
  await using agent = await countingAgent();
  await using client = await Client.connect(cardOf([interfaceAt("GRPC", agent.url)]), {
    fetch: globalThis.fetch,
    allowPrivate: false,
    retry: false,
  });
  await expect(client.send("say")).rejects.toThrow(internetAlone);
  expect(agent.runs).toBe(0);
});

describe("what an address answers", () => {
  const secret = "root:hunter2";
  const describeError = (error: unknown): string => inspect(error, { depth: 20, showHidden: true });
  const failureOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => undefined,
      (error: unknown) => error,
    );

  it("what an address answers appears in no error when it is not a card", async () => {
    await using server = await cardServer({ "/card.json": answered(200, {}, secret) });
    const error = await failureOf(Client.connect(`${server.url}/card.json`));
    expect(error).toMatchObject({ code: "invalidAgentResponse" });
    expect(describeError(error)).not.toContain("hunter2");
  });

  it.each(allBindings.filter((binding) => binding !== "GRPC"))(
    "what an address answers is in no error of a call over %s",
    async (binding) => {
      await using peer = await httpPeer((_, response) => response.end(secret));
      await using client = await Client.connect(cardOf([interfaceAt(binding, peer.url)]), { retry: false });
      const error = await failureOf(client.getTask({ id: "t" }));
      expect(error).toMatchObject({ code: "invalidAgentResponse" });
      expect(describeError(error)).not.toContain("hunter2");
    },
  );

  it.each([
    ["our own fetch", undefined],
    ["a fetch of the caller's own", globalThis.fetch],
  ])("what an address answers appears in no error when it is not HTTP, by %s", async (_, fetch) => {
    const server = createServer((socket) => socket.on("error", () => {}).end(`220 ${secret}\r\n`));
    const listening = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", listening.resolve);
    await listening.promise;
    const bound = server.address();
    const origin = `http://127.0.0.1:${typeof bound === "object" ? bound?.port : ""}`;
    const own = fetch === undefined ? {} : { fetch };
    const noCard = await failureOf(Client.connect(origin, own));
    await using client = await Client.connect(cardOf([interfaceAt("JSONRPC", origin)]), { ...own, retry: false });
    const noAnswer = await failureOf(client.getTask({ id: "t" }));
    server.close();
    for (const error of [noCard, noAnswer]) {
      expect(error).toMatchObject({ code: "unavailable" });
      expect(describeError(error)).not.toContain("hunter2");
    }
  });
});
