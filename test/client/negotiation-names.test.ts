import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { connectionText } from "../../src/cli/connect.js";
import { NoInterfaceError } from "../../src/client/connection.js";
import { Client } from "../../src/client/node.js";
import { TaskState } from "../../src/protocol/model.js";
import { itemsOf } from "../support/items.js";
import { cardOf, interfaceAt } from "./support/cards.js";
import { countingAgent } from "./support/counting-agent.js";

// Cards that spell a binding's name differently, and cards whose agent serves a binding in another version's form.

const near = { allowPrivate: true, retry: false } as const;

describe.each([
  ["jsonrpc", "JSONRPC"],
  ["JSON-RPC", "JSONRPC"],
  ["json_rpc", "JSONRPC"],
  ["rest", "HTTP+JSON"],
  ["REST", "HTTP+JSON"],
  ["HTTP_JSON", "HTTP+JSON"],
  ["http+json", "HTTP+JSON"],
  ["grpc", "GRPC"],
] as const)("an interface listed as %s", (listedAs, binding) => {
  it(`an interface with another word for ${binding} is called, preferred by that name, and reported`, async () => {
    await using agent = await countingAgent();
    const { url } = interfaceAt(binding, agent.url);
    const others = (["GRPC", "JSONRPC"] as const).filter((other) => other !== binding);
    const card = cardOf([
      ...others.map((other) => interfaceAt(other, agent.url)),
      { protocolBinding: listedAs, url: String(url), protocolVersion: "1.0" },
    ]);
    await using client = await Client.connect(card, { ...near, prefer: [binding] });
    expect(await client.send("say")).toMatchObject({ text: "said", state: "message" });
    expect(client.connection).toEqual({ binding, listedAs, url, version: "1.0", skipped: [] });
    if (client.connection !== undefined) {
      expect(connectionText(client.connection)).toBe(`using ${binding} (listed as "${listedAs}") 1.0 at ${url}`);
    }
  });
});

it("an interface that does not answer is listed in the error with the card's own word for its binding", async () => {
  const card = cardOf([{ protocolBinding: "REST", url: "http://127.0.0.1:9", protocolVersion: "1.0" }]);
  await using client = await Client.connect(card, near);
  const error = await client.send("go").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NoInterfaceError);
  expect(error).toMatchObject({
    message: expect.stringContaining('HTTP+JSON (listed as "REST") 1.0 at http://127.0.0.1:9: '),
    skipped: [{ binding: "HTTP+JSON", listedAs: "REST" }],
  });
});

it("a word that only looks like a binding names no binding", async () => {
  await using agent = await countingAgent();
  const unknown = { protocolBinding: "urn:example:rest", url: agent.url, protocolVersion: "1.0" };
  await using client = await Client.connect(cardOf([unknown, interfaceAt("JSONRPC", agent.url)]), near);
  await client.send("say");
  expect(client.connection).toMatchObject({
    binding: "JSONRPC",
    skipped: [{ binding: "urn:example:rest", reason: "this client has no such binding" }],
  });
});

describe("an agent whose card of 0.2 lists gRPC", () => {
  const card = (agent: { readonly url: string; readonly server: { readonly grpcPort: number } }): JsonObject => ({
    protocolVersion: "0.2.6",
    name: "Between",
    description: "Has JSON-RPC of 0.2, and gRPC",
    version: "1",
    url: `${agent.url}/json-rpc`,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [{ transport: "grpc", url: `http://127.0.0.1:${agent.server.grpcPort}` }],
    capabilities: { streaming: true },
    skills: [{ id: "s", name: "S", description: "s", tags: ["s"] }],
  });

  it("an agent whose card of 0.2 lists gRPC is called over it by the service of 0.3, if preferred", async () => {
    await using agent = await countingAgent({ versions: ["0.3"], bindings: ["GRPC"] });
    await using client = await Client.connect(card(agent), { ...near, prefer: ["GRPC"] });
    expect(await client.send("go")).toMatchObject({ state: "completed" });
    const items = await itemsOf(client.stream("go"));
    expect(items.at(-1)?.response.payload.value).toMatchObject({ status: { state: TaskState.COMPLETED } });
    expect(client.connection).toMatchObject({ binding: "GRPC", version: "0.2", skipped: [] });
    expect(agent.runs).toBe(2);
  });

  it("an agent whose card of 0.2 lists gRPC is called over JSON-RPC where nothing else is preferred", async () => {
    await using agent = await countingAgent({ versions: ["0.3", "0.2"] });
    await using client = await Client.connect(card(agent), near);
    await client.send("go");
    expect(client.connection).toMatchObject({ binding: "JSONRPC", version: "0.2", skipped: [] });
  });
});
