import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { wireName } from "../../protocol/bindings.js";
import { readJson } from "../../protocol/codec/json/reader.js";
import { writeJson } from "../../protocol/codec/json/writer.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError, type FieldViolation } from "../../protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../../protocol/model.js";
import { parseVersion } from "../../protocol/service-parameters.js";
import { mustBe, violationText } from "../../protocol/violations.js";
import { readRequirements, readSchemes, writeRequirements, writeSchemes } from "./security.js";

// The card up to 0.3, converted from and to the JSON of 1.0, since most members are the same. It differs in its
// interfaces and security, and it requires some members even if they are empty.
//
// It lists one main interface and then all interfaces, without their versions. So it may only list interfaces of its own
// version, and none with a tenant, which these versions lack.

const name = "0.3";

/** Returns the agent card in 0.3's own form. Omits signatures, which cover another form. */
export function writeCard(card: AgentCard): JsonObject | undefined {
  const interfaces = listInterfaces(card, name);
  if (interfaces === undefined) return undefined;
  const { url, preferredTransport, additionalInterfaces } = interfaces;
  return {
    protocolVersion: "0.3.0",
    ...flatCard(card),
    url,
    preferredTransport,
    additionalInterfaces: additionalInterfaces.map((each) => ({ ...each })),
  };
}

/** Returns the members that do not describe interfaces. */
export function flatCard(card: AgentCard): JsonObject {
  const {
    supportedInterfaces: _,
    signatures: __,
    securitySchemes,
    securityRequirements,
    capabilities,
    skills,
    ...same
  } = writeJson(AgentCardSchema, card);
  const { extendedAgentCard = false, ...abilities } = isJsonObject(capabilities) ? capabilities : {};
  return {
    ...same,
    capabilities: abilities,
    ...(securitySchemes === undefined ? {} : { securitySchemes: writeSchemes(securitySchemes) }),
    ...(securityRequirements === undefined ? {} : { security: writeRequirements(securityRequirements) }),
    supportsAuthenticatedExtendedCard: extendedAgentCard,
    skills: readObjects(skills).map(({ securityRequirements: requirements, ...skill }) =>
      requirements === undefined ? skill : { ...skill, security: writeRequirements(requirements) },
    ),
  };
}

interface CardInterface {
  readonly url: string;
  readonly transport: string;
}

/** The interfaces of an agent, in the form of cards up to 0.3. */
interface CardInterfaces {
  /** URL of the main interface: JSON-RPC if the agent has it, since the oldest readers know no other binding. */
  readonly url: string;
  readonly preferredTransport: string;
  /** Every interface, including the main one. */
  readonly additionalInterfaces: readonly CardInterface[];
}

/** Returns the interfaces of one version, or `undefined` if the card lists none. */
export function listInterfaces({ supportedInterfaces }: AgentCard, version: string): CardInterfaces | undefined {
  const interfaces = supportedInterfaces
    .filter(({ protocolVersion, tenant }) => parseVersion(protocolVersion) === version && tenant === "")
    // The gRPC address stays `host:port`, although the text of 0.3 requires a URL: clients pass it to their channel as
    // it is.
    .map(({ url, protocolBinding: transport }) => ({ url, transport }));
  const main = interfaces.find(({ transport }) => transport === "JSONRPC") ?? interfaces[0];
  if (main === undefined) return undefined;
  return { url: main.url, preferredTransport: main.transport, additionalInterfaces: interfaces };
}

/** Reads a peer's card. A card in this form that declares 1.0 or later is called in that version first. */
export function readCard(json: JsonValue | undefined): AgentCard {
  return readFlatCard(json, (declared = name) => (Number(declared) >= 1 ? [declared, name] : [declared]));
}

/**
 * Reads a card of this form leniently: a member of a wrong type reads as empty. `listVersions` maps the declared version,
 * if any, to the versions in which to call each interface, preferred first. Throws `invalidAgentResponse` if the card
 * lists no interface.
 */
export function readFlatCard(
  json: JsonValue | undefined,
  listVersions: (declared: string | undefined) => readonly string[],
): AgentCard {
  if (!isJsonObject(json)) throw noCard({ field: "", description: mustBe("a JSON object", json) });
  const { protocolVersion, capabilities, securitySchemes, security, skills } = json;
  const interfaces = interfacesIn(json);
  if (interfaces.length === 0)
    throw noCard({ field: "url", description: mustBe("the address of the agent", json["url"]) });
  const declared = typeof protocolVersion === "string" ? parseVersion(protocolVersion) : undefined;
  const supportedInterfaces = listVersions(declared).flatMap((version) =>
    interfaces.map(({ url, transport }) => ({ url, protocolBinding: transport, protocolVersion: version })),
  );
  const { signatures: _, securityRequirements: __, ...same } = json;
  const { message } = readJson(
    AgentCardSchema,
    {
      ...same,
      supportedInterfaces,
      capabilities: {
        ...(isJsonObject(capabilities) ? capabilities : {}),
        extendedAgentCard: json["supportsAuthenticatedExtendedCard"] === true,
      },
      securitySchemes: readSchemes(securitySchemes),
      securityRequirements: readRequirements(security),
      skills: readObjects(skills).map(({ security: requirements, ...skill }) => ({
        ...skill,
        securityRequirements: readRequirements(requirements),
      })),
    },
    { lenient: true },
  );
  return message;
}

/** Returns the distinct interfaces, main one first. Most cards list the main one in both members. */
function interfacesIn({ url, preferredTransport, additionalInterfaces }: JsonObject): readonly CardInterface[] {
  const main = { url: url ?? "", transport: typeof preferredTransport === "string" ? preferredTransport : "" };
  const interfaces = new Map<string, CardInterface>();
  for (const { url: address, transport } of [main, ...readObjects(additionalInterfaces)]) {
    if (typeof address !== "string" || address === "" || typeof transport !== "string") continue;
    const entry = { url: address, transport: wireName(transport || defaultTransport) };
    interfaces.set(JSON.stringify([entry.url, entry.transport]), entry);
  }
  return [...interfaces.values()];
}

const defaultTransport = "JSONRPC";

/** Returns the objects of a list, or none if the value is not a list. */
export function readObjects(json: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(json) ? json.filter(isJsonObject) : [];
}

function noCard(violation: FieldViolation): A2AError {
  return new A2AError(
    "invalidAgentResponse",
    `this is not an agent card that can be called: ${violationText(violation)}`,
    {
      violations: [violation],
    },
  );
}
