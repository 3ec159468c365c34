import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";

/**
 * Rewrites the security requirements of a card and its skills as the Go SDK reads them: the scopes of a scheme are a
 * bare list, and not a message with a `list`, which its parser refuses.
 */
export function withGoRequirements(card: JsonObject): JsonObject {
  const { skills } = card;
  if (!Array.isArray(skills)) return withBareScopes(card);
  return {
    ...withBareScopes(card),
    skills: skills.map((skill) => (isJsonObject(skill) ? withBareScopes(skill) : skill)),
  };
}

function withBareScopes(owner: JsonObject): JsonObject {
  const { securityRequirements } = owner;
  if (!Array.isArray(securityRequirements)) return owner;
  return { ...owner, securityRequirements: securityRequirements.map(bareRequirement) };
}

function bareRequirement(requirement: JsonValue): JsonValue {
  if (!isJsonObject(requirement) || !isJsonObject(requirement["schemes"])) return requirement;
  const schemes: JsonObject = {};
  for (const [name, scopes] of Object.entries(requirement["schemes"])) {
    schemes[name] = (isJsonObject(scopes) ? scopes["list"] : undefined) ?? [];
  }
  return { ...requirement, schemes };
}
