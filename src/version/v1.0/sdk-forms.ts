import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";

// Security in cards of 1.0, as released SDKs write it: the JavaScript SDK (1.0 to 1.3) shows the arm of a oneof as
// `{ scheme: { $case, value } }`, the Go SDK (2.0 to 2.4) the scopes of a scheme as a bare list.

/** Returns a card in the JSON form of its message. A card in that form is returned as it is. */
export function withMessageForms(card: JsonObject): JsonObject {
  const { securitySchemes, skills } = card;
  return {
    ...withRequirements(card),
    ...(isJsonObject(securitySchemes) && { securitySchemes: withArms(securitySchemes) }),
    ...(Array.isArray(skills) && {
      skills: skills.map((skill) => (isJsonObject(skill) ? withRequirements(skill) : skill)),
    }),
  };
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
