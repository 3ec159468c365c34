import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { readRequirements, readSchemes, writeRequirements, writeSchemes } from "../../../src/version/v0.3/security.js";

const tokenUrl = "https://sso.example/token";
const authorizationUrl = "https://sso.example/authorize";
const scopes = { read: "Reads" };

const pairs: readonly (readonly [flat: JsonObject, wrapped: JsonObject])[] = [
  [
    { type: "apiKey", in: "cookie", name: "k", description: "A key" },
    { apiKeySecurityScheme: { location: "cookie", name: "k", description: "A key" } },
  ],
  [
    { type: "http", scheme: "Bearer", bearerFormat: "JWT" },
    { httpAuthSecurityScheme: { scheme: "Bearer", bearerFormat: "JWT" } },
  ],
  [
    { type: "oauth2", flows: { clientCredentials: { tokenUrl, scopes } }, oauth2MetadataUrl: "https://sso.example/m" },
    {
      oauth2SecurityScheme: {
        flows: { clientCredentials: { tokenUrl, scopes } },
        oauth2MetadataUrl: "https://sso.example/m",
      },
    },
  ],
  [
    { type: "oauth2", flows: { authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes: {} } } },
    {
      oauth2SecurityScheme: {
        flows: { authorizationCode: { authorizationUrl, tokenUrl, refreshUrl: tokenUrl, scopes: {} } },
      },
    },
  ],
  [
    { type: "openIdConnect", openIdConnectUrl: "https://sso.example/c" },
    { openIdConnectSecurityScheme: { openIdConnectUrl: "https://sso.example/c" } },
  ],
  [{ type: "mutualTLS", description: "Ask us" }, { mtlsSecurityScheme: { description: "Ask us" } }],
];

describe("a security scheme", () => {
  // Requirements: V03-CARD-13
  it.each(pairs)("the 0.3 security scheme %j is read and written", (flat, wrapped) => {
    expect(readSchemes({ s: flat })).toEqual({ s: wrapped });
    expect(writeSchemes({ s: wrapped })).toEqual({ s: flat });
  });

  it.each(pairs)(
    "the 0.3 security scheme %j is read in the form of 1.0 as well, alone or in both forms at once",
    (flat, wrapped) => {
      expect(readSchemes({ s: wrapped })).toEqual({ s: wrapped });
      expect(readSchemes({ s: { ...flat, ...wrapped } })).toMatchObject({ s: wrapped });
    },
  );

  it.each<[string, JsonObject, JsonObject]>([
    ["in capitals", { type: "MutualTls" }, { mtlsSecurityScheme: {} }],
    ["without a place", { type: "apiKey", name: "k" }, { apiKeySecurityScheme: { location: "header", name: "k" } }],
    ["of an unknown kind", { type: "magic" }, {}],
    ["of no kind", { scheme: "Bearer" }, {}],
  ])("a 0.3 security scheme %s is read as well as it can be", (_, flat, wrapped) => {
    expect(readSchemes({ s: flat })).toEqual({ s: wrapped });
  });

  it("a 0.3 security scheme keeps one flow of several: the one that asks the user", () => {
    const [implicit, password] = [
      { authorizationUrl, scopes },
      { tokenUrl, scopes },
    ];
    const clientCredentials = { tokenUrl, scopes };
    const authorizationCode = { authorizationUrl, tokenUrl, scopes };
    const flowOf = (flows: JsonObject) => readSchemes({ s: { type: "oauth2", flows } });
    const schemeOf = (flows: JsonObject) => ({ s: { oauth2SecurityScheme: { flows } } });
    expect(flowOf({ password, implicit, clientCredentials, authorizationCode })).toEqual(
      schemeOf({ authorizationCode }),
    );
    expect(flowOf({ password, implicit, clientCredentials })).toEqual(schemeOf({ clientCredentials }));
    expect(flowOf({ password, implicit })).toEqual(schemeOf({ implicit }));
    expect(flowOf({ password })).toEqual(schemeOf({ password }));
    expect(flowOf({})).toEqual(schemeOf({}));
  });

  // Requirements: V03-CARD-13
  it("a 0.3 security scheme is written without flows that 0.3 does not know, and with what it requires", () => {
    const written = (flows: JsonObject) => writeSchemes({ s: { oauth2SecurityScheme: { flows } } });
    const flows = (wireFlows: JsonObject) => ({ s: { type: "oauth2", flows: wireFlows } });
    const code = { authorizationUrl, tokenUrl, scopes };
    expect(written({ authorizationCode: { ...code, pkceRequired: true } })).toEqual(flows({ authorizationCode: code }));
    expect(written({ deviceCode: { tokenUrl } })).toEqual(flows({}));
    expect(written({ implicit: {} })).toEqual(flows({ implicit: { authorizationUrl: "", scopes: {} } }));
    expect(written({ password: { tokenUrl } })).toEqual(flows({ password: { tokenUrl, scopes: {} } }));
  });
});

describe("a requirement", () => {
  // Requirements: V03-CARD-13
  it.each<[JsonObject, JsonObject]>([
    [{ sso: ["a", "b"], key: [] }, { schemes: { sso: { list: ["a", "b"] }, key: { list: [] } } }],
    [{}, { schemes: {} }],
    [{ schemes: ["a"] }, { schemes: { schemes: { list: ["a"] } } }],
  ])("the 0.3 security requirement %j is read and written", (flat, wrapped) => {
    expect(readRequirements([flat])).toEqual([wrapped]);
    expect(writeRequirements([wrapped])).toEqual([flat]);
  });

  it("a 0.3 security requirement is read in the form of 1.0 as well", () => {
    const wrapped = { schemes: { key: { list: [] } } };
    expect(readRequirements([wrapped])).toEqual([wrapped]);
  });

  it("a 0.3 security requirement is left out where it is none, and is without scopes where they are none", () => {
    expect(readRequirements([7, null, { key: "all" }])).toEqual([{ schemes: { key: { list: [] } } }]);
    expect(readRequirements({ key: [] })).toEqual([]);
  });
});
