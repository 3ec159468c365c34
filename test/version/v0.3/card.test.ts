import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../../src/protocol/model.js";
import { readCard, writeCard } from "../../../src/version/v0.3/card.js";
import { v1 as newest } from "../../../src/version/v1.0/v1.js";
import { forBoth, threeTransports } from "./card-examples.js";

const place = (protocolBinding: string, url: string, protocolVersion = "0.3", tenant = "") => ({
  protocolBinding,
  url,
  protocolVersion,
  tenant,
});

const cardAt = (...supportedInterfaces: ReturnType<typeof place>[]) =>
  create(AgentCardSchema, { name: "Quay Planner", supportedInterfaces });

describe("the card of 0.3", () => {
  // Requirements: V03-CARD-17
  it("the card of 0.3 is read into the facts of the model", () => {
    expect(newest.writeCard(readCard(threeTransports))).toEqual({
      name: "Quay Planner",
      description: "Assigns berths",
      version: "2.4.0",
      supportedInterfaces: [
        { url: "https://quay.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
        { url: "https://quay.example/rest", protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
        { url: "https://grpc.quay.example", protocolBinding: "GRPC", protocolVersion: "0.3" },
      ],
      capabilities: {
        streaming: true,
        pushNotifications: true,
        extensions: [{ uri: "https://ext.example/tide/v1" }],
        extendedAgentCard: true,
      },
      defaultInputModes: ["text/plain", "application/json"],
      defaultOutputModes: ["text/plain"],
      securitySchemes: {
        "port-sso": {
          openIdConnectSecurityScheme: {
            openIdConnectUrl: "https://sso.example/.well-known/openid-configuration",
          },
        },
        key: { apiKeySecurityScheme: { location: "header", name: "X-Quay-Key" } },
      },
      securityRequirements: [{ schemes: { "port-sso": { list: ["berths"] } } }, { schemes: { key: {} } }],
      skills: [
        {
          id: "assign",
          name: "Assign berth",
          description: "Finds a free berth",
          tags: ["port"],
          securityRequirements: [{ schemes: { "port-sso": { list: ["berths.write"] } } }],
        },
      ],
    });
  });

  it("the card of 0.3 is written as it was read", () => {
    const written = writeCard(readCard(threeTransports));
    // Members of an extension with their default value, false, are omitted.
    expect(written).toEqual({
      ...threeTransports,
      capabilities: { streaming: true, pushNotifications: true, extensions: [{ uri: "https://ext.example/tide/v1" }] },
    });
  });

  // Requirements: V03-CARD-2
  it("the card of 0.3 has its required members even when they are empty", () => {
    expect(
      writeCard(create(AgentCardSchema, { supportedInterfaces: [place("JSONRPC", "http://q")], skills: [{}] })),
    ).toEqual({
      protocolVersion: "0.3.0",
      name: "",
      description: "",
      version: "",
      url: "http://q",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [{ url: "http://q", transport: "JSONRPC" }],
      capabilities: {},
      defaultInputModes: [],
      defaultOutputModes: [],
      supportsAuthenticatedExtendedCard: false,
      skills: [{ id: "", name: "", description: "", tags: [] }],
    });
  });

  it("the card of 0.3 lists the interfaces of its own version without a tenant, JSON-RPC as the main one", () => {
    const card = cardAt(
      place("JSONRPC", "http://q/new", "1.0"),
      place("HTTP+JSON", "http://q/rest"),
      place("JSONRPC", "http://q/north", "0.3", "north"),
      place("JSONRPC", "http://q/rpc", "0.3.0"),
      place("JSONRPC", "http://q/older", "0.2"),
    );
    expect(writeCard(card)).toMatchObject({
      url: "http://q/rpc",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [
        { url: "http://q/rest", transport: "HTTP+JSON" },
        { url: "http://q/rpc", transport: "JSONRPC" },
      ],
    });
  });

  // Requirements: V03-CARD-9
  it("the card of 0.3 does not exist for an agent that has no such interface", () => {
    expect(
      writeCard(cardAt(place("JSONRPC", "http://q", "1.0"), place("JSONRPC", "http://q", "0.3", "north"))),
    ).toBeUndefined();
  });

  // Requirements: V03-CARD-16
  it("the card of 0.3 does not carry signatures, which are over another form", () => {
    const signed = { ...threeTransports, signatures: [{ protected: "e30", signature: "AA" }] };
    const card = readCard(signed);
    expect(card.signatures).toEqual([]);
    card.signatures = newest.readCard({ ...newest.writeCard(card), signatures: signed.signatures }).signatures;
    expect(card.signatures).toHaveLength(1);
    expect(writeCard(card)).not.toHaveProperty("signatures");
  });
});

it.each(["grpc.q:50051", "https://grpc.q", "grpcs://grpc.q:5", "[::1]:50051"])(
  "gRPC is in the card of 0.3 as in the agent's: %s",
  (url) => {
    const card = cardAt(place("GRPC", url), place("JSONRPC", "https://q:1/a", "1.0"));
    expect(writeCard(card)).toMatchObject({
      url,
      preferredTransport: "GRPC",
      additionalInterfaces: [{ url, transport: "GRPC" }],
    });
  },
);

describe("a card of 0.3 that is not as it should be", () => {
  const minimal = { name: "Q", url: "http://q/rpc", protocolVersion: "0.3.0" };
  const interfacesOf = (json: JsonObject) =>
    readCard(json).supportedInterfaces.map(
      ({ protocolBinding, url, protocolVersion }) => `${protocolBinding} ${protocolVersion} ${url}`,
    );

  it.each<[string, JsonObject, string[]]>([
    ["names no transport", {}, ["JSONRPC 0.3 http://q/rpc"]],
    ["names its transport in small letters", { preferredTransport: "http+json" }, ["HTTP+JSON 0.3 http://q/rpc"]],
    ["has a transport that is no text", { preferredTransport: 7 }, ["JSONRPC 0.3 http://q/rpc"]],
    ["has no version", { protocolVersion: null }, ["JSONRPC 0.3 http://q/rpc"]],
    ["has a version with many digits", { protocolVersion: "0.3.14" }, ["JSONRPC 0.3 http://q/rpc"]],
    [
      "says a version that has another form",
      { protocolVersion: "1.0.0" },
      ["JSONRPC 1.0 http://q/rpc", "JSONRPC 0.3 http://q/rpc"],
    ],
    [
      "names its places twice",
      {
        additionalInterfaces: [
          { url: "http://q/rpc", transport: "jsonrpc" },
          { url: "http://q/rpc", transport: "GRPC" },
          { url: "http://q/rpc", transport: "GRPC" },
        ],
      },
      ["JSONRPC 0.3 http://q/rpc", "GRPC 0.3 http://q/rpc"],
    ],
    [
      "has no main place",
      { url: "", additionalInterfaces: [{ url: "http://q/x", transport: "urn:own" }, 5, { url: 5 }] },
      ["urn:own 0.3 http://q/x"],
    ],
  ])("a faulty card of 0.3 that %s can be called", (_, members, expected) => {
    expect(interfacesOf({ ...minimal, ...members })).toEqual(expected);
  });

  // Requirements: V03-CARD-17
  it("a faulty card of 0.3 is read without the members of a wrong type", () => {
    const card = readCard({
      ...minimal,
      capabilities: [],
      skills: [7, { id: "s", tags: "t" }],
      security: {},
      defaultInputModes: null,
    });
    expect(card).toMatchObject({ skills: [{ id: "s", tags: [] }], securityRequirements: [], defaultInputModes: [] });
    expect(card.capabilities).toMatchObject({ extendedAgentCard: false });
  });

  it.each([[null], [[]], ["card"], [{ name: "Q" }], [{ url: 7 }], [{ url: "", additionalInterfaces: {} }]])(
    "a card of 0.3 that names no place is none: %j",
    (json) => {
      expect(() => readCard(json)).toThrow(/^this is not an agent card that can be called: /);
    },
  );
});

it("a card for readers of two versions is to each what its own card would be", () => {
  const facts = newest.readCard(forBoth);
  const older = readCard(forBoth);
  expect(older.supportedInterfaces.map(({ url, protocolBinding }) => [url, protocolBinding])).toEqual([
    ["https://quay.example/rpc", "JSONRPC"],
    ["https://quay.example/rest", "HTTP+JSON"],
  ]);
  expect({ ...older, supportedInterfaces: [] }).toEqual({ ...facts, supportedInterfaces: [] });
});
