import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { AgentCardSchema } from "../../../src/protocol/model.js";
import { readCard, writeCard } from "../../../src/version/v0.2/card.js";
import { beforeVersions, threeTransports } from "../v0.3/card-examples.js";

it("a card of 0.2 is read as such, even without a version", () => {
  expect(readCard(beforeVersions)).toMatchObject({
    supportedInterfaces: [
      { url: "https://quay.example/a2a/v1", protocolBinding: "JSONRPC", protocolVersion: "0.2", tenant: "" },
    ],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
    securitySchemes: { basic: { scheme: { case: "httpAuthSecurityScheme", value: { scheme: "Basic" } } } },
    securityRequirements: [{ schemes: { basic: { list: [] } } }],
  });
  expect(readCard({ ...beforeVersions, protocolVersion: "0.2.5" }).supportedInterfaces[0]?.protocolVersion).toBe("0.2");
});

it("a card of 0.2 is written as it was read, with the members that came later in 0.2", () => {
  const { stateTransitionHistory: _, ...capabilities } = beforeVersions["capabilities"] as Record<string, boolean>;
  expect(writeCard(readCard(beforeVersions))).toEqual({
    ...beforeVersions,
    capabilities,
    protocolVersion: "0.2.6",
    preferredTransport: "JSONRPC",
    additionalInterfaces: [{ url: "https://quay.example/a2a/v1", transport: "JSONRPC" }],
  });
});

it("a card of 0.2 names JSON-RPC alone, and none of what its strict readers do not know", () => {
  const card = readCard({
    ...threeTransports,
    protocolVersion: "0.2.6",
    securitySchemes: {
      cert: { type: "mutualTLS" },
      sso: { type: "oauth2", flows: {}, oauth2MetadataUrl: "https://sso.example/m" },
    },
    security: [{ cert: [], sso: [] }, { sso: ["berths"] }],
  });
  expect(card.supportedInterfaces).toHaveLength(3);
  const written = writeCard(card);
  expect(written).toMatchObject({
    url: "https://quay.example/rpc",
    additionalInterfaces: [{ url: "https://quay.example/rpc", transport: "JSONRPC" }],
    security: [{ sso: ["berths"] }],
    skills: [{ id: "assign", name: "Assign berth", description: "Finds a free berth", tags: ["port"] }],
  });
  expect(written?.["securitySchemes"]).toEqual({ sso: { type: "oauth2", flows: {} } });
  expect(JSON.stringify(written?.["skills"])).not.toContain("security");
});

it.each([
  ["of other versions", "JSONRPC", "0.3"],
  ["of another binding", "GRPC", "0.2"],
])("there is no card of 0.2 when all interfaces are %s", (_, protocolBinding, protocolVersion) => {
  const card = create(AgentCardSchema, {
    supportedInterfaces: [{ url: "http://q", protocolBinding, protocolVersion }],
  });
  expect(writeCard(card)).toBeUndefined();
});
