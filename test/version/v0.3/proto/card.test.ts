import { equals, type JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "../../../../src/protocol/codec/json/reader.js";
import { writeJson } from "../../../../src/protocol/codec/json/writer.js";
import { type AgentCard, AgentCardSchema } from "../../../../src/protocol/model.js";
import { readCardJson, readWireCard, writeCardJson, writeWireCard } from "../../../../src/version/v0.3/proto/card.js";
import { AgentCardSchema as WireSchema } from "../../../../src/version/v0.3/proto/model.js";
import { arbitraryMessage } from "../../../support/arbitrary-message.js";

const places = [
  { url: "https://quay.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "0.3", tenant: "" },
  { url: "https://grpc.quay.example", protocolBinding: "GRPC", protocolVersion: "0.3", tenant: "" },
];

function cardOf(json: JsonObject): AgentCard {
  const card = { name: "Quay", description: "d", version: "1", supportedInterfaces: places, ...json };
  return readJson(AgentCardSchema, card).message;
}

describe("the card in 0.3's schema", () => {
  it("the card in 0.3's schema survives the round trip, whatever it contains that both versions have", () => {
    fc.assert(
      fc.property(arbitraryMessage(AgentCardSchema), (random) => {
        const original = carried(random);
        expect(writeJson(AgentCardSchema, readWireCard(writeWireCard(original)))).toEqual(
          writeJson(AgentCardSchema, original),
        );
        const json = JSON.parse(JSON.stringify(writeCardJson(original))) as JsonObject;
        expect(equals(AgentCardSchema, readCardJson(json), readWireCard(writeWireCard(original)))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it("the card in 0.3's schema writes security as E23 shows it", () => {
    const card = cardOf({
      securitySchemes: { key: { apiKeySecurityScheme: { location: "header", name: "X-Quay-Key" } } },
      securityRequirements: [{ schemes: { key: { list: [] } } }],
    });
    expect(writeCardJson(card)).toMatchObject({
      securitySchemes: { key: { apiKeySecurityScheme: { location: "header", name: "X-Quay-Key" } } },
      security: [{ schemes: { key: {} } }],
      preferredTransport: "JSONRPC",
      protocolVersion: "0.3.0",
    });
  });

  it("the card in 0.3's schema loses a flow that 0.3 does not have, and keeps its scheme", () => {
    const deviceCode = { deviceAuthorizationUrl: "https://d", tokenUrl: "https://t", scopes: {} };
    const card = cardOf({ securitySchemes: { o: { oauth2SecurityScheme: { flows: { deviceCode } } } } });
    expect(writeCardJson(card)["securitySchemes"]).toEqual({ o: { oauth2SecurityScheme: { flows: {} } } });
  });

  it("the card in 0.3's schema loses signatures, and interfaces of other versions and of tenants", () => {
    const card = cardOf({
      signatures: [{ protected: "p", signature: "s" }],
      supportedInterfaces: [
        { url: "https://new", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url: "https://tenant", protocolBinding: "JSONRPC", protocolVersion: "0.3", tenant: "t" },
        ...places,
      ],
    });
    const json = writeCardJson(card);
    expect(json).not.toHaveProperty("signatures");
    expect(json).toMatchObject({
      url: "https://quay.example/rpc",
      additionalInterfaces: [
        { url: "https://quay.example/rpc", transport: "JSONRPC" },
        { url: "https://grpc.quay.example", transport: "GRPC" },
      ],
    });
  });

  it("the card in 0.3's schema is read in the other JSON of 0.3, and by the names of the schema", () => {
    const flat = {
      name: "Quay",
      url: "https://quay.example/rpc",
      securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Quay-Key" } },
      security: [{ key: ["a"] }],
      supportsAuthenticatedExtendedCard: true,
    };
    const snake = {
      name: "Quay",
      url: "https://quay.example/rpc",
      security_schemes: { key: { api_key_security_scheme: { location: "header", name: "X-Quay-Key" } } },
      security: [{ schemes: { key: { list: ["a"] } } }],
      supports_authenticated_extended_card: true,
    };
    const [one, other] = [readCardJson(flat), readCardJson(snake)];
    expect(writeJson(AgentCardSchema, other)).toEqual(writeJson(AgentCardSchema, one));
    expect(one.securityRequirements).toMatchObject([{ schemes: { key: { list: ["a"] } } }]);
    expect(one.capabilities?.extendedAgentCard).toBe(true);
  });

  it.each([undefined, null, [], {}, { name: "x" }])("the card in 0.3's schema is none: %j", (json) => {
    expect(() => readCardJson(json)).toThrow(expect.objectContaining({ code: "invalidAgentResponse" }));
  });

  it("the card in 0.3's schema has room for what peers added later", () => {
    const later = { iconUrl: "https://i", capabilities: { stateTransitionHistory: true } };
    const { message } = readJson(WireSchema, { name: "x", url: "u", ...later });
    expect(writeJson(WireSchema, message)).toMatchObject(later);
  });
});

// Removes what 0.3 cannot express, and members that read the same as absent ones.
function carried(card: AgentCard): AgentCard {
  const { capabilities, provider, documentationUrl, iconUrl } = card;
  const plain: AgentCard = {
    ...card,
    supportedInterfaces: cardOf({}).supportedInterfaces,
    signatures: [],
    capabilities: {
      $typeName: "lf.a2a.v1.AgentCapabilities",
      extensions: capabilities?.extensions ?? [],
      ...(capabilities?.streaming === true ? { streaming: true } : {}),
      ...(capabilities?.pushNotifications === true ? { pushNotifications: true } : {}),
      extendedAgentCard: capabilities?.extendedAgentCard === true,
    },
    ...(provider === undefined ? {} : { provider }),
  };
  if (documentationUrl === "") delete plain.documentationUrl;
  if (iconUrl === "") delete plain.iconUrl;
  for (const { scheme } of Object.values(plain.securitySchemes)) {
    if (scheme.case !== "oauth2SecurityScheme" || scheme.value.flows === undefined) continue;
    const { flow } = scheme.value.flows;
    if (flow.case === "deviceCode") scheme.value.flows.flow = { case: undefined };
    if (flow.case === "authorizationCode") flow.value.pkceRequired = false;
  }
  return plain;
}
