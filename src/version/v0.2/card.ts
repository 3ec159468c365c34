import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import type { AgentCard } from "../../protocol/model.js";
import { flatCard, listInterfaces, readFlatCard, readObjects } from "../v0.3/card.js";

// The card of 0.2: the 0.3 card without later additions. Agents may list other bindings too, but are called over
// JSON-RPC.

const name = "0.2";

/**
 * The agent card in 0.2's own form. It lists the JSON-RPC interface and omits what 0.2's strict readers do not know.
 */
export function writeCard(card: AgentCard): JsonObject | undefined {
  const interfaces = listInterfaces(card, name)?.additionalInterfaces ?? [];
  const main = interfaces.find(({ transport }) => transport === "JSONRPC");
  if (main === undefined) return undefined;
  const { securitySchemes, security, skills, ...same } = flatCard(card);
  const schemes = knownSchemes(securitySchemes);
  // A requirement that includes an omitted scheme cannot be met by its other schemes alone.
  const requirements = readObjects(security).filter((each) =>
    Object.keys(each).every((key) => Object.hasOwn(schemes, key)),
  );
  return {
    protocolVersion: "0.2.6",
    ...same,
    ...(Object.keys(schemes).length === 0 ? {} : { securitySchemes: schemes }),
    ...(requirements.length === 0 ? {} : { security: [...requirements] }),
    skills: readObjects(skills).map(({ security: _, ...skill }) => skill),
    url: main.url,
    preferredTransport: main.transport,
    additionalInterfaces: [{ ...main }],
  };
}

/** Reads a peer's card. */
export function readCard(json: JsonValue | undefined): AgentCard {
  return readFlatCard(json, (declared = name) => [declared]);
}

function knownSchemes(schemes: JsonValue | undefined): JsonObject {
  const schemesOfV02: JsonObject = {};
  for (const [key, scheme] of Object.entries(isJsonObject(schemes) ? schemes : {})) {
    if (!isJsonObject(scheme) || scheme["type"] === "mutualTLS") continue;
    const { oauth2MetadataUrl: _, ...older } = scheme;
    schemesOfV02[key] = older;
  }
  return schemesOfV02;
}
