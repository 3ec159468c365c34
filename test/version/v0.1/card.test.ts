import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../../src/protocol/model.js";
import { readCard, writeCard } from "../../../src/version/v0.1/card.js";
import * as later from "../../../src/version/v0.3/card.js";
import * as newest from "../../../src/version/v1.0/card.js";
import { oldest, threeTransports } from "../v0.3/card-examples.js";

describe("a card of 0.1", () => {
  it("a card of 0.1 is read with what later versions must have, and known by its `authentication`", () => {
    expect(newest.writeCard(readCard(oldest))).toEqual({
      name: "Quay Planner",
      description: "",
      version: "0.9.0",
      supportedInterfaces: [{ url: "https://quay.example/", protocolBinding: "JSONRPC", protocolVersion: "0.1" }],
      capabilities: { streaming: true, extendedAgentCard: false },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain"],
      securitySchemes: { apikey: { apiKeySecurityScheme: { location: "header", name: "X-Quay-Key" } } },
      securityRequirements: [{ schemes: { apikey: {} } }],
      skills: [{ id: "assign", name: "Assign berth", description: "", tags: [] }],
    });
  });

  it("a card without `authentication` leaves open which of two versions it is of", () => {
    const { authentication: _, ...unsaid } = oldest;
    const versions = readCard(unsaid).supportedInterfaces.map(({ protocolVersion }) => protocolVersion);
    expect(versions).toEqual(["0.2", "0.1"]);
  });

  it("a card of 0.1 that declares its version is of that version only", () => {
    const versions = readCard({ ...oldest, protocolVersion: "0.1.0" }).supportedInterfaces;
    expect(versions.map(({ protocolVersion }) => protocolVersion)).toEqual(["0.1"]);
  });

  it("a card of 0.1 may have security in the later form", () => {
    const card = readCard({
      ...oldest,
      securitySchemes: { b: { type: "http", scheme: "Basic" } },
      security: [{ b: [] }],
    });
    expect(Object.keys(card.securitySchemes)).toEqual(["b"]);
  });

  it("a card of 0.1 has words for kinds of content", () => {
    const skills = [{ id: "s", name: "S", inputModes: ["file", "image/png"], outputModes: ["data"] }];
    expect(readCard({ ...oldest, skills }).skills).toMatchObject([
      { inputModes: ["application/octet-stream", "image/png"], outputModes: ["application/json"] },
    ]);
  });

  it("a card of 0.1 is written with the members that its readers know", () => {
    const card = later.readCard({
      ...threeTransports,
      iconUrl: "https://quay.example/i",
      provider: { organization: "Quay", url: "" },
    });
    card.supportedInterfaces = [...at("0.1").supportedInterfaces, ...card.supportedInterfaces];
    expect(writeCard(card)).toEqual({
      name: "Quay Planner",
      description: "Assigns berths",
      version: "2.4.0",
      url: "https://quay.example/json-rpc",
      provider: { organization: "Quay", url: "" },
      capabilities: { streaming: true, pushNotifications: true, stateTransitionHistory: false },
      authentication: {
        schemes: ["OAuth2"],
        credentials: '{"openIdConnectUrl":"https://sso.example/.well-known/openid-configuration"}',
      },
      defaultInputModes: ["text", "application/json"],
      defaultOutputModes: ["text"],
      skills: [{ id: "assign", name: "Assign berth", description: "Finds a free berth", tags: ["port"] }],
    });
  });

  it("a card of 0.1 does not exist for an agent without such an interface", () => {
    expect(writeCard(at("0.2"))).toBeUndefined();
  });
});

function at(protocolVersion: string): AgentCard {
  const url = "https://quay.example/json-rpc";
  return create(AgentCardSchema, { supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion }] });
}

const tokenUrl = "https://sso.example/token";
const authorizationUrl = "https://sso.example/authorize";
const flows = (flow: JsonObject) => ({ oauth2SecurityScheme: { flows: flow } });

describe("the authentication of 0.1", () => {
  it.each<[JsonObject, JsonObject]>([
    [{ schemes: ["Bearer"] }, { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } }],
    [{ schemes: ["ApiKey"] }, { apikey: { apiKeySecurityScheme: { location: "header", name: "X-API-Key" } } }],
    [
      { schemes: ["OAuth2"], credentials: JSON.stringify({ tokenEndpoint: tokenUrl, scopes: "read write" }) },
      { oauth2: flows({ clientCredentials: { tokenUrl, scopes: { read: "", write: "" } } }) },
    ],
    [
      { schemes: ["OAuth2"], credentials: JSON.stringify({ authorizationUrl, token_url: tokenUrl, scopes: ["read"] }) },
      { oauth2: flows({ authorizationCode: { authorizationUrl, tokenUrl, scopes: { read: "" } } }) },
    ],
    [
      { schemes: ["OAuth2"], credentials: JSON.stringify({ authorizationUrl, scopes: { read: "Reads" } }) },
      { oauth2: flows({ implicit: { authorizationUrl, scopes: { read: "Reads" } } }) },
    ],
    [{ schemes: ["oauth2"], credentials: "ask us" }, { oauth2: flows({}) }],
    [
      { schemes: ["Basic", "Digest"], credentials: null },
      {
        basic: { httpAuthSecurityScheme: { scheme: "Basic" } },
        digest: { httpAuthSecurityScheme: { scheme: "Digest" } },
      },
    ],
    [{ schemes: [] }, {}],
  ])("the authentication %j of a 0.1 card is read, each scheme as one way in", (authentication, schemes) => {
    const { securitySchemes = {}, securityRequirements = [] } = newest.writeCard(
      readCard({ ...oldest, authentication }),
    );
    expect(securitySchemes).toEqual(schemes);
    expect(securityRequirements).toEqual(Object.keys(schemes).map((name) => ({ schemes: { [name]: {} } })));
  });

  it.each<[JsonObject, JsonObject]>([
    [{ type: "http", scheme: "bearer" }, { schemes: ["Bearer"] }],
    [
      { type: "apiKey", in: "query", name: "k" },
      { schemes: ["ApiKey"], credentials: '{"in":"query","name":"k"}' },
    ],
    [
      { type: "oauth2", flows: { clientCredentials: { tokenUrl, scopes: {} } } },
      { schemes: ["OAuth2"], credentials: JSON.stringify({ tokenUrl, scopes: {} }) },
    ],
  ])("the authentication of a 0.1 card is written of the first requirement: %j", (scheme, authentication) => {
    const url = "http://q";
    const card = later.readCard({
      url,
      securitySchemes: { first: scheme, other: { type: "http", scheme: "Basic" } },
      security: [{ first: [] }, { other: [] }],
    });
    card.supportedInterfaces = at("0.1").supportedInterfaces;
    expect(writeCard(card)?.["authentication"]).toEqual(authentication);
  });

  it("the authentication of a 0.1 card is not written when there is nothing to write", () => {
    const card = later.readCard({
      url: "http://q",
      securitySchemes: { c: { type: "mutualTLS" } },
      security: [{ c: [] }],
    });
    card.supportedInterfaces = at("0.1").supportedInterfaces;
    expect(writeCard(card)).not.toHaveProperty("authentication");
  });
});
