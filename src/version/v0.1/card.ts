import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { AgentCard } from "../../protocol/model.js";
import { flatCard, listInterfaces, readFlatCard, readObjects } from "../v0.3/card.js";
import { readAuthentication, writeAuthentication } from "./authentication.js";
import { toMediaType } from "./words.js";

// The card of 0.1: one JSON-RPC interface, with its own terms for security and content types.

const name = "0.1";

/** A card without a version may also be of this version. Only a call shows which. */
const nextName = "0.2";

/** Returns the agent card in 0.1's own form. */
export function writeCard(card: AgentCard): JsonObject | undefined {
  const interfaces = listInterfaces(card, name)?.additionalInterfaces ?? [];
  const main = interfaces.find(({ transport }) => transport === "JSONRPC");
  if (main === undefined) return undefined;
  const { capabilities, securitySchemes, security, skills, iconUrl: _, ...same } = flatCard(card);
  const { supportsAuthenticatedExtendedCard: __, defaultInputModes, defaultOutputModes, ...members } = same;
  const { streaming = false, pushNotifications = false } = isJsonObject(capabilities) ? capabilities : {};
  const authentication = writeAuthentication(securitySchemes, readObjects(security)[0]);
  return {
    ...members,
    url: main.url,
    capabilities: { streaming, pushNotifications, stateTransitionHistory: false },
    ...(authentication === undefined ? {} : { authentication }),
    defaultInputModes: oldModes(defaultInputModes),
    defaultOutputModes: oldModes(defaultOutputModes),
    skills: readObjects(skills).map(({ security: _, inputModes, outputModes, ...skill }) => ({
      ...skill,
      ...(inputModes === undefined ? {} : { inputModes: oldModes(inputModes) }),
      ...(outputModes === undefined ? {} : { outputModes: oldModes(outputModes) }),
    })),
  };
}

/**
 * Reads a peer's card. A card without a version lists its interface as 0.2 first and then as 0.1. A card with
 * `authentication` is 0.1 only, since no later version has that member.
 */
export function readCard(json: JsonValue | undefined): AgentCard {
  if (!isJsonObject(json)) return readFlatCard(json, () => [name]);
  const isSure = isJsonObject(json["authentication"]);
  const versions = isSure ? [name] : [nextName, name];
  return readFlatCard(upgradeCard(json), (declared) => (declared === undefined ? versions : [declared]));
}

function upgradeCard(json: JsonObject): JsonObject {
  const { authentication, securitySchemes, security, skills } = json;
  const securityMembers =
    securitySchemes === undefined && security === undefined ? readAuthentication(authentication) : {};
  return {
    ...json,
    ...securityMembers,
    defaultInputModes: readModes(json["defaultInputModes"]) ?? ["text/plain"],
    defaultOutputModes: readModes(json["defaultOutputModes"]) ?? ["text/plain"],
    skills: readObjects(skills).map((skill) => ({
      ...skill,
      inputModes: readModes(skill["inputModes"]) ?? [],
      outputModes: readModes(skill["outputModes"]) ?? [],
    })),
  };
}

function readModes(modes: JsonValue | undefined): JsonValue[] | undefined {
  return Array.isArray(modes) ? modes.map(toMediaType) : undefined;
}

function oldModes(modes: JsonValue | undefined): JsonValue[] {
  return Array.isArray(modes) ? modes.map((mode) => (mode === "text/plain" ? "text" : mode)) : [];
}
