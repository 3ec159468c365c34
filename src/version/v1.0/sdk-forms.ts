import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";

// Security in cards of 1.0, as released SDKs write it: the JavaScript SDK (1.0 to 1.3) shows the arm of a oneof as
// `{ scheme: { $case, value } }`, the Go SDK (2.0 to 2.4) the scopes of a scheme as a bare list, and Go 2.0 the arm itself by
// a short name.

const shortArms: ReadonlyMap<string, string> = new Map([
  ["apiKey", "apiKeySecurityScheme"],
  ["http", "httpAuthSecurityScheme"],
  ["oauth2", "oauth2SecurityScheme"],
  ["openIdConnect", "openIdConnectSecurityScheme"],
  ["mutualTLS", "mtlsSecurityScheme"],
]);

/** Returns a card in the JSON form of its message. A card in that form is returned as it is. */
export function withMessageForms(card: JsonObject): JsonObject {
  const { securitySchemes, skills } = card;
  return {
    ...withRequirements(card),
    ...(isJsonObject(securitySchemes) && {
      securitySchemes: mapMembers(securitySchemes, (scheme) => withLongArm(withArms(scheme))),
    }),
    ...(Array.isArray(skills) && {
      skills: skills.map((skill) => (isJsonObject(skill) ? withRequirements(skill) : skill)),
    }),
  };
}

function mapMembers(object: JsonObject, change: (value: JsonValue) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}

function withLongArm(scheme: JsonValue): JsonValue {
  if (!isJsonObject(scheme)) return scheme;
  return Object.fromEntries(
    Object.entries(scheme).map(([name, value]) => [isJsonObject(value) ? (shortArms.get(name) ?? name) : name, value]),
  );
}

function withArms(json: JsonValue): JsonValue {
  if (!isJsonObject(json)) return json;
  const members = Object.entries(json).map(([name, value]) =>
    isJsonObject(value) && typeof value["$case"] === "string"
      ? [value["$case"], withArms(value["value"] ?? {})]
      : [name, withArms(value)],
  );
  return Object.fromEntries(members) as JsonObject;
}

function withRequirements(owner: JsonObject): JsonObject {
  const { securityRequirements } = owner;
  if (!Array.isArray(securityRequirements)) return owner;
  return { ...owner, securityRequirements: securityRequirements.map(withLists) };
}

function withLists(requirement: JsonValue): JsonValue {
  if (!isJsonObject(requirement) || !isJsonObject(requirement["schemes"])) return requirement;
  const schemes = Object.entries(requirement["schemes"]).map(([name, scopes]) => [
    name,
    Array.isArray(scopes) ? { list: scopes } : scopes,
  ]);
  return { ...requirement, schemes: Object.fromEntries(schemes) as JsonObject };
}
