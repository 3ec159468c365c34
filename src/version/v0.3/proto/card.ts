import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { readJson } from "../../../protocol/codec/json/reader.js";
import { writeJson } from "../../../protocol/codec/json/writer.js";
import { isJsonObject } from "../../../protocol/codec/outline/dynamic.js";
import { type AgentCard, AgentCardSchema as ModelSchema } from "../../../protocol/model.js";
import { listInterfaces, readCard, readObjects } from "../card.js";
import { AgentCardSchema, type WireCard } from "./model.js";

// The card in 0.3's schema: security as in 1.0, everything else as in 0.3's other JSON. Cards are requested rarely, so
// the conversion goes through JSON.

/** Omits signatures, which cover another form. */
export function writeWireCard(card: AgentCard): WireCard {
  const {
    supportedInterfaces: _,
    signatures: __,
    securityRequirements,
    capabilities,
    skills,
    ...same
  } = writeJson(ModelSchema, card);
  const { extendedAgentCard = false, ...abilities } = isJsonObject(capabilities) ? capabilities : {};
  const { url, preferredTransport, additionalInterfaces } = listInterfaces(card, "0.3") ?? noInterfaces;
  const json: JsonObject = {
    ...same,
    protocolVersion: "0.3.0",
    url,
    preferredTransport,
    additionalInterfaces: additionalInterfaces.map((each) => ({ ...each })),
    capabilities: abilities,
    security: securityRequirements ?? [],
    supportsAuthenticatedExtendedCard: extendedAgentCard,
    skills: readObjects(skills).map(({ securityRequirements: requirements, ...skill }) => ({
      ...skill,
      security: requirements ?? [],
    })),
  };
  return readJson(AgentCardSchema, json, { lenient: true }).message;
}

const noInterfaces = { url: "", preferredTransport: "", additionalInterfaces: [] };

/** Throws `invalidAgentResponse` if the card lists no interface. */
export function readWireCard(wire: WireCard): AgentCard {
  return readCard(writeJson(AgentCardSchema, wire));
}

/** Returns the card in the schema's JSON. */
export function writeCardJson(card: AgentCard): JsonObject {
  return writeJson(AgentCardSchema, writeWireCard(card));
}

/** Reads a card in either JSON of 0.3. The schema's form may use snake case. */
export function readCardJson(json: JsonValue | undefined): AgentCard {
  const hasSchemaNames = isJsonObject(json) && Object.keys(json).some((name) => name.includes("_"));
  return hasSchemaNames ? readWireCard(readJson(AgentCardSchema, json, { lenient: true }).message) : readCard(json);
}
