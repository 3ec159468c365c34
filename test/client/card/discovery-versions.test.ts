import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { Client } from "../../../src/client/node.js";
import { beforeVersions, forBoth, oldest, threeTransports } from "../../version/v0.3/card-examples.js";
import { cardServer } from "../support/card-server.js";
import { countingAgent } from "../support/counting-agent.js";

const newPath = "/.well-known/agent-card.json";
const oldPath = "/.well-known/agent.json";
const uncached = { cardCache: false } as const;

const placesOf = ({ card }: Client) =>
  card.supportedInterfaces.map(({ protocolVersion, protocolBinding }) => `${protocolBinding} ${protocolVersion}`);

describe("a card of any version is read", () => {
  // Requirements: V03-DISC-2
  it.each<[string, string, JsonObject, readonly string[]]>([
    ["0.3", newPath, threeTransports, ["JSONRPC 0.3", "HTTP+JSON 0.3", "GRPC 0.3"]],
    ["0.2", oldPath, beforeVersions, ["JSONRPC 0.2"]],
    ["0.1", oldPath, oldest, ["JSONRPC 0.1"]],
    ["1.0 and 0.3", newPath, forBoth, ["JSONRPC 1.0", "JSONRPC 0.3", "HTTP+JSON 1.0", "HTTP+JSON 0.3"]],
  ])("a card of version %s is read at the path its agents use", async (_, path, card, places) => {
    await using server = await cardServer({ [path]: card });
    await using client = await Client.connect(server.url, uncached);
    expect(client.card).toMatchObject({ name: "Quay Planner", skills: [{ id: "assign" }] });
    expect(placesOf(client)).toEqual(places);
    await using cardClient = await Client.connect(card);
    expect(cardClient.card).toEqual(client.card);
  });

  it("a card is read once, as long as it stays the same", async () => {
    await using agent = await countingAgent({ versions: ["0.3"] });
    await using first = await Client.connect(agent.url);
    await using second = await Client.connect(agent.url);
    expect(second.card).toBe(first.card);
  });
});

describe("a 1.0 card with security in the forms of released SDKs", () => {
  const { supportedInterfaces } = forBoth;
  const bare: JsonObject = {
    name: "Quay Planner",
    supportedInterfaces: supportedInterfaces ?? [],
    version: "1",
    description: "",
  };
  const tokenUrl = "https://id.example/token";

  it("a 1.0 card of a released SDK is read with arms of security that are shown as `$case`", async () => {
    const flow = { $case: "clientCredentials", value: { tokenUrl, refreshUrl: "", scopes: { read: "Read" } } };
    const securitySchemes = {
      key: { scheme: { $case: "apiKeySecurityScheme", value: { description: "", location: "header", name: "X-Key" } } },
      m2m: { scheme: { $case: "oauth2SecurityScheme", value: { description: "", flows: { flow } } } },
      plain: { httpAuthSecurityScheme: { scheme: "Bearer" } },
    };
    await using client = await Client.connect({ ...bare, securitySchemes });
    expect(client.card.securitySchemes).toMatchObject({
      key: { scheme: { case: "apiKeySecurityScheme", value: { location: "header", name: "X-Key" } } },
      m2m: { scheme: { value: { flows: { flow: { case: "clientCredentials", value: { tokenUrl } } } } } },
      plain: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } },
    });
  });

  it("a 1.0 card of a released SDK is read with arms of security that have short names", async () => {
    const securitySchemes = {
      key: { apiKey: { location: "header", name: "X-Key" } },
      plain: { http: { scheme: "Bearer" } },
      peer: { mutualTLS: {} },
    };
    await using client = await Client.connect({ ...bare, securitySchemes });
    expect(client.card.securitySchemes).toMatchObject({
      key: { scheme: { case: "apiKeySecurityScheme", value: { location: "header", name: "X-Key" } } },
      plain: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } },
      peer: { scheme: { case: "mtlsSecurityScheme" } },
    });
  });

  it("a 1.0 card of a released SDK is read with scopes that are a bare list", async () => {
    const securityRequirements = [{ schemes: { key: ["read"], plain: [] } }, { schemes: { key: { list: ["write"] } } }];
    const skills = [{ id: "tow", name: "T", description: "", tags: [], securityRequirements }];
    const securitySchemes = { key: { httpAuthSecurityScheme: { scheme: "Bearer" } } };
    await using client = await Client.connect({ ...bare, securitySchemes, securityRequirements, skills });
    const read = [
      { schemes: { key: { list: ["read"] }, plain: { list: [] } } },
      { schemes: { key: { list: ["write"] } } },
    ];
    expect(client.card.securityRequirements).toMatchObject(read);
    expect(client.card.skills).toMatchObject([{ securityRequirements: read }]);
  });
});

describe("a 1.0 card with security only in the older form", () => {
  const halfTold = (url: string): JsonObject => ({
    ...threeTransports,
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true },
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "X-Quay-Key" },
      told: { type: "http", scheme: "Basic", httpAuthSecurityScheme: { scheme: "Bearer" } },
    },
    security: [{ key: [] }],
    skills: [
      { id: "assign", name: "A", description: "", tags: [], security: [{ key: ["w"] }] },
      { id: "tow", name: "T", description: "", tags: [], securityRequirements: [{ schemes: { told: {} } }] },
    ],
  });

  // Requirements: IOP-6
  it("security of a 1.0 card is read in the older and the newer form, and the newer one wins", async () => {
    await using client = await Client.connect(halfTold("http://127.0.0.1:9"));
    const { card } = client;
    expect(placesOf(client)).toEqual(["JSONRPC 1.0"]);
    expect(card.capabilities).toMatchObject({ streaming: true, extendedAgentCard: true });
    expect(card.securitySchemes).toMatchObject({
      key: { scheme: { case: "apiKeySecurityScheme", value: { location: "header", name: "X-Quay-Key" } } },
      told: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } } },
    });
    expect(card.securityRequirements).toMatchObject([{ schemes: { key: {} } }]);
    expect(card.skills).toMatchObject([
      { id: "assign", securityRequirements: [{ schemes: { key: { list: ["w"] } } }] },
      { id: "tow", securityRequirements: [{ schemes: { told: {} } }] },
    ]);
  });

  // Requirements: V03-CARDX-1
  it("a 1.0 card with security only in the older form admits a caller with the secret", async () => {
    const keys: (string | undefined)[] = [];
    await using agent = await countingAgent({
      authenticate: ({ header }) => {
        keys.push(header("x-quay-key"));
        return { owner: "me" };
      },
    });
    const card = halfTold(`${agent.url}/json-rpc`);
    await using client = await Client.connect(card, {
      allowPrivate: true,
      credentials: { key: "k3y" },
      extendedCard: false,
    });
    await client.send("go");
    expect(new Set(keys)).toEqual(new Set(["k3y"]));
  });
});
