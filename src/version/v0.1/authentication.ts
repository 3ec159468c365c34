import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";

// Security in 0.1: a list of scheme names, any one of which suffices, and a text, mostly JSON, with further non-secret
// details. Schemes of later versions appear here in the flat form of 0.3.

/** Returns `authentication` for the schemes of one requirement, or `undefined` if none can be expressed. */
export function writeAuthentication(
  schemes: JsonValue | undefined,
  requirement: JsonObject = {},
): JsonObject | undefined {
  const schemesByName = isJsonObject(schemes) ? schemes : {};
  const terms = Object.keys(requirement).flatMap((name) => termFor(schemesByName[name]) ?? []);
  if (terms.length === 0) return undefined;
  const facts: JsonObject = Object.assign({}, ...terms.map(({ facts }) => facts));
  return {
    schemes: [...new Set(terms.map(({ word }) => word))],
    ...(Object.keys(facts).length === 0 ? {} : { credentials: JSON.stringify(facts) }),
  };
}

interface SchemeTerm {
  readonly word: string;
  readonly facts: JsonObject;
}

function termFor(scheme: JsonValue | undefined): SchemeTerm | undefined {
  if (!isJsonObject(scheme)) return undefined;
  const { in: source = "header", name = "", scheme: word, flows, openIdConnectUrl = "" } = scheme;
  switch (scheme["type"]) {
    case "apiKey":
      return { word: "ApiKey", facts: { in: source, name } };
    case "http":
      return { word: schemeNamed(String(word)), facts: {} };
    case "oauth2":
      return { word: "OAuth2", facts: firstFlow(flows) };
    case "openIdConnect":
      return { word: "OAuth2", facts: { openIdConnectUrl } };
    default:
      return undefined;
  }
}

// HTTP scheme names are case-insensitive, but old readers may compare them exactly.
function schemeNamed(word: string): string {
  return ["Basic", "Bearer"].find((each) => each.toLowerCase() === word.toLowerCase()) ?? word;
}

function firstFlow(flows: JsonValue | undefined): JsonObject {
  const [flow] = isJsonObject(flows) ? Object.values(flows) : [];
  return isJsonObject(flow) ? flow : {};
}

/** Returns `securitySchemes` and `security` for an `authentication`. Each of its schemes suffices alone. */
export function readAuthentication(authentication: JsonValue | undefined): JsonObject {
  const { schemes, credentials } = isJsonObject(authentication) ? authentication : {};
  const words = Array.isArray(schemes) ? schemes.filter((word) => typeof word === "string" && word !== "") : [];
  if (words.length === 0) return {};
  const facts = readFacts(credentials);
  const schemesByName = new Map(words.map((word) => [plainWord(String(word)), schemeFor(String(word), facts)]));
  return {
    securitySchemes: Object.fromEntries(schemesByName),
    security: [...schemesByName.keys()].map((name) => ({ [name]: [] })),
  };
}

function schemeFor(word: string, facts: JsonObject): JsonObject {
  switch (plainWord(word)) {
    case "apikey":
      return { type: "apiKey", in: facts["in"] ?? "header", name: facts["name"] ?? "X-API-Key" };
    case "oauth2":
      if (typeof facts["openIdConnectUrl"] === "string") return openIdConnect(facts["openIdConnectUrl"]);
      return { type: "oauth2", flows: readFlows(facts) };
    case "openidconnect":
      return openIdConnect(facts["openIdConnectUrl"] ?? "");
    default:
      return { type: "http", scheme: word };
  }
}

function openIdConnect(url: JsonValue): JsonObject {
  return { type: "openIdConnect", openIdConnectUrl: url };
}

// The member names of this text were never specified. These occur in practice.
const authorizationNames = ["authorizationUrl", "authorizationEndpoint", "authorization_endpoint", "authorization_url"];
const tokenNames = ["tokenUrl", "tokenEndpoint", "token_endpoint", "token_url"];

function readFlows(facts: JsonObject): JsonObject {
  const authorizationUrl = firstText(facts, authorizationNames);
  const tokenUrl = firstText(facts, tokenNames);
  const refreshUrl = firstText(facts, ["refreshUrl", "refresh_url"]);
  const flow = { ...(refreshUrl === undefined ? {} : { refreshUrl }), scopes: readScopes(facts["scopes"]) };
  if (authorizationUrl === undefined) {
    return tokenUrl === undefined ? {} : { clientCredentials: { tokenUrl, ...flow } };
  }
  if (tokenUrl === undefined) return { implicit: { authorizationUrl, ...flow } };
  return { authorizationCode: { authorizationUrl, tokenUrl, ...flow } };
}

function readScopes(scopes: JsonValue | undefined): JsonObject {
  if (isJsonObject(scopes)) return scopes;
  const list = typeof scopes === "string" ? scopes.split(/[\s,]+/) : scopes;
  if (!Array.isArray(list)) return {};
  return Object.fromEntries(
    list.filter((scope) => typeof scope === "string" && scope !== "").map((scope) => [scope, ""]),
  );
}

function firstText(facts: JsonObject, names: readonly string[]): string | undefined {
  return names.map((name) => facts[name]).find((value) => typeof value === "string" && value !== "") as
    | string
    | undefined;
}

function readFacts(credentials: JsonValue | undefined): JsonObject {
  if (typeof credentials !== "string") return {};
  try {
    const facts = JSON.parse(credentials) as JsonValue;
    return isJsonObject(facts) ? facts : {};
  } catch {
    // Any other text is meant for people.
    return {};
  }
}

function plainWord(word: string): string {
  return word.replace(/[-_\s]/g, "").toLowerCase();
}
