import type { JsonObject } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { unionCard } from "../../src/card/union.js";
import * as first from "../../src/version/v0.1/card.js";
import * as second from "../../src/version/v0.2/card.js";
import * as third from "../../src/version/v0.3/card.js";
import { v1 as newest } from "../../src/version/v1.0/v1.js";
import { forBoth } from "../version/v0.3/card-examples.js";

const versions = [newest, third, second, first];

/** A card with everything that versions write differently. */
const everything = newest.readCard({
  name: "Quay Planner",
  description: "Assigns berths",
  version: "3.0.0",
  provider: { organization: "Quay", url: "https://quay.example" },
  supportedInterfaces: [
    ...["1.0", "0.3", "0.2", "0.1"].map((protocolVersion) => ({
      url: "https://quay.example/json-rpc",
      protocolBinding: "JSONRPC",
      protocolVersion,
    })),
    { url: "quay.example:443", protocolBinding: "GRPC", protocolVersion: "1.0" },
    { url: "quay.example:443", protocolBinding: "GRPC", protocolVersion: "0.3" },
    { url: "https://quay.example/http-json", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
  ],
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  securitySchemes: {
    cert: { mtlsSecurityScheme: {} },
    bearer: { httpAuthSecurityScheme: { scheme: "Bearer", description: "A token" } },
    key: { apiKeySecurityScheme: { location: "header", name: "X-Key" } },
  },
  securityRequirements: [
    { schemes: { cert: {}, bearer: {} } },
    { schemes: { bearer: { list: ["all"] } } },
    { schemes: { key: {} } },
  ],
  skills: ["assign", "tow"].map((id) => ({
    id,
    name: id,
    description: "",
    tags: [],
    securityRequirements: [{ schemes: { key: {} } }],
  })),
});

const union = unionCard(versions.map((version) => requireCard(version.writeCard(everything))));

function requireCard(card: JsonObject | undefined): JsonObject {
  expect(card).toBeDefined();
  return card ?? {};
}

it("the union is one card in which readers of 1.0 and of 0.3 find the same facts as in cards of their own", () => {
  expect(newest.readCard(union)).toEqual(everything);
  const older = third.readCard(union);
  expect(older).toEqual(third.readCard(third.writeCard(everything)));
  expect({ ...older, supportedInterfaces: [] }).toEqual({ ...everything, supportedInterfaces: [] });
});

it.each([
  ["0.2", second],
  ["0.1", first],
])("the union contains every member of the card of %s, in this form or a newer one", (_, version) => {
  expect(Object.keys(union)).toEqual(expect.arrayContaining(Object.keys(requireCard(version.writeCard(everything)))));
  expect(union).toMatchObject({ url: requireCard(version.writeCard(everything))["url"] });
});

// Requirements: IOP-5
it("the union lists the interfaces of 0.3 only for readers of 0.3, and all of them for readers of 1.0", () => {
  expect(union).toMatchObject({
    protocolVersion: "0.3.0",
    url: "https://quay.example/json-rpc",
    preferredTransport: "JSONRPC",
    additionalInterfaces: [
      { url: "https://quay.example/json-rpc", transport: "JSONRPC" },
      { url: "quay.example:443", transport: "GRPC" },
    ],
  });
  expect(union["supportedInterfaces"]).toHaveLength(7);
});

it("the union has each scheme and each skill in all of their forms, and no two alternatives put together", () => {
  expect(union).toMatchObject({
    securitySchemes: {
      bearer: {
        type: "http",
        scheme: "Bearer",
        httpAuthSecurityScheme: { scheme: "Bearer", description: "A token" },
      },
    },
    authentication: { schemes: ["Bearer"] },
  });
  expect(union["security"]).toEqual([{ cert: [], bearer: [] }, { bearer: ["all"] }, { key: [] }]);
  const own = [{ key: [] }];
  const [wrapped] = [[{ schemes: { key: {} } }]];
  expect(union["skills"]).toMatchObject([
    { id: "assign", security: own, securityRequirements: wrapped },
    { id: "tow", security: own, securityRequirements: wrapped },
  ]);
});

it("the union uses the newest form where a member has several", () => {
  expect(union["defaultInputModes"]).toEqual(["text/plain"]);
  expect(union["capabilities"]).toEqual({
    streaming: true,
    extendedAgentCard: true,
    pushNotifications: false,
    stateTransitionHistory: false,
  });
});

it("the union is a document of two versions as agents write it", () => {
  const card = newest.readCard(forBoth);
  expect(unionCard([newest, third].map((version) => requireCard(version.writeCard(card))))).toMatchObject({
    ...forBoth,
    securityRequirements: [{ schemes: { bearer: {} } }],
  });
});

it("the union merges a skill with the one of the same id, wherever it is, and no other list entries", () => {
  expect(
    unionCard([
      { list: [{ id: "b", x: 1 }, { y: 1 }, "z"], one: { a: null } },
      { list: [{ z: 1 }, { id: "a", w: 1 }, { id: "b", x: 2, w: 2 }], one: { a: 1, b: 2 }, two: [] },
    ]),
  ).toEqual({ list: [{ id: "b", x: 1, w: 2 }, { y: 1 }, "z"], one: { a: null, b: 2 }, two: [] });
});
