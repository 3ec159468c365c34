import { apiKey, basic, bearerJwt, mutualTls, oauth2, openIdConnect } from "trivium/auth";
import { expect, it } from "vitest";

// Options as programs without TypeScript give them. A check that is misspelled would not take place.

const jwt = { issuer: "https://id.example", audience: "weather" };
const discoveryUrl = "https://id.example/.well-known/openid-configuration";
const introspection = { endpoint: "https://id.example/introspect", clientId: "weather", clientSecret: "s" };
const clientCredentials = { tokenUrl: "https://id.example/token", scopes: {} };
const flows = { clientCredentials };
const verify = (): undefined => undefined;

const schemes: Readonly<Record<string, (options: never) => unknown>> = {
  apiKey,
  basic,
  bearerJwt,
  mutualTls,
  oauth2,
  openIdConnect,
};

it.each<[string, unknown, string]>([
  ["bearerJwt", { ...jwt, algoritms: ["RS256"] }, "algoritms cannot be given: did you mean algorithms?"],
  ["bearerJwt", { ...jwt, algorithms: "RS256" }, "algorithms must be an array, not a value of type string"],
  ["bearerJwt", { issuer: jwt.issuer }, "audience is missing: give the name of this agent at the issuer"],
  ["bearerJwt", { ...jwt, key: "secret" }, "key must be a CryptoKey, a KeyObject, a JWK or the bytes of a secret"],
  ["bearerJwt", { ...jwt, key: {} }, "key must be a CryptoKey, a KeyObject, a JWK or the bytes of a secret"],
  ["bearerJwt", { ...jwt, description: 1 }, "description must be a string, not a value of type number"],
  ["openIdConnect", { discoveryUrl, audience: "weather", issuer: "x" }, "issuer cannot be given: "],
  ["openIdConnect", { discoveryURL: discoveryUrl, audience: "weather" }, "discoveryURL cannot be given: did you mean"],
  ["oauth2", { flows, jwt: { ...jwt, audiance: "x" } }, "jwt.audiance cannot be given: did you mean audience?"],
  [
    "oauth2",
    { flows, introspection: { ...introspection, clientSecret: undefined } },
    "introspection.clientSecret is missing: give the secret of this agent at the authorization server",
  ],
  ["oauth2", { flows, introspection: { ...introspection, cacheMS: 1 } }, "introspection.cacheMS cannot be given: did"],
  ["oauth2", { flows, introspection: { ...introspection, audience: 1 } }, "introspection.audience must be a string"],
  [
    "oauth2",
    { flows: { clientCredentials: { ...clientCredentials, scopes: ["a"] } }, jwt },
    "flows.clientCredentials.scopes must be an object, not an array",
  ],
  [
    "oauth2",
    { flows: { clientCredential: clientCredentials }, jwt },
    "flows.clientCredential cannot be given: did you",
  ],
  ["apiKey", { in: "head", name: "x-key", verify }, 'in must be "header" or "query" or "cookie", not "head"'],
  ["apiKey", { in: "header", verify }, "name is missing: give the name of the header, the parameter or the cookie"],
  ["apiKey", { in: "header", name: "x-key", verfy: verify }, "verfy cannot be given: did you mean verify?"],
  ["basic", { verify, relm: "agent" }, "relm cannot be given: did you mean realm?"],
  ["basic", { verify, realm: 1 }, "realm must be a string, not a value of type number"],
  ["mutualTls", { ca: [1] }, "ca[0] must be a string, not a value of type number"],
  ["mutualTls", { suject: verify }, "suject cannot be given: did you mean subject?"],
])("%s refuses %j", (name, options, message) => {
  const act = (): unknown => (schemes[name] as (options: unknown) => unknown)(options);
  expect(act).toThrow(TypeError);
  expect(act).toThrow(`${name}: `);
  expect(act).toThrow(message);
});

it.each(Object.keys(schemes))("%s refuses options that are no object", (name) => {
  const act = (): unknown => (schemes[name] as (options: unknown) => unknown)("x");
  expect(act).toThrow(new TypeError(`${name}: the options must be an object, not a value of type string`));
});
