import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { wireName } from "../../protocol/bindings.js";
import { readJson } from "../../protocol/codec/json/reader.js";
import { writeJson } from "../../protocol/codec/json/writer.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError, type FieldViolation } from "../../protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../../protocol/model.js";
import { parseVersion } from "../../protocol/service-parameters.js";
import { mustBe, violationText } from "../../protocol/violations.js";
import { interfacesOf } from "./card-interfaces.js";
import { readRequirements, readSchemes, writeRequirements, writeSchemes } from "./security.js";

// The card up to 0.3, made of the JSON of 1.0 and read as such: most members are the same. What differs is where the
// agent is, how security is written, and that the members which must be there are there also when they are empty.

const name = "0.3";

/** The pure card of 0.3. Signatures are left out: they are over another form. */
export function writeCard(card: AgentCard): JsonObject | undefined {
  const interfaces = interfacesOf(card, name);
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

/** The members that do not say where the agent is. */
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
    skills: objectsOf(skills).map(({ securityRequirements: own, ...skill }) =>
      own === undefined ? skill : { ...skill, security: writeRequirements(own) },
    ),
  };
}

/** Reads a peer's card. One that says a version from 1.0 on in this form is called in that one first. */
export function readCard(json: JsonValue | undefined): AgentCard {
  return readFlatCard(json, (declared = name) => (Number(declared) >= 1 ? [declared, name] : [declared]));
}

/**
 * Reads a card of this form, leniently: a member of a wrong type reads as empty. `versionsOf` says in which versions,
 * the first of them first, each place is to be called, by the version that the card declares, if it does. Throws
 * `invalidAgentResponse` when the card names no place.
 */
export function readFlatCard(
  json: JsonValue | undefined,
  versionsOf: (declared: string | undefined) => readonly string[],
): AgentCard {
  if (!isJsonObject(json)) throw noCard({ field: "", description: mustBe("a JSON object", json) });
  const { protocolVersion, capabilities, securitySchemes, security, skills } = json;
  const places = placesOf(json);
  if (places.length === 0) throw noCard({ field: "url", description: mustBe("the address of the agent", json["url"]) });
  const declared = typeof protocolVersion === "string" ? parseVersion(protocolVersion) : undefined;
  const supportedInterfaces = versionsOf(declared).flatMap((version) =>
    places.map(({ url, transport }) => ({ url, protocolBinding: transport, protocolVersion: version })),
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
      skills: objectsOf(skills).map(({ security: own, ...skill }) => ({
        ...skill,
        securityRequirements: readRequirements(own),
      })),
    },
    { lenient: true },
  );
  return message;
}

interface Place {
  readonly url: string;
  readonly transport: string;
}

/** The main place first, each place once: most cards name the main one in both members. */
function placesOf({ url, preferredTransport, additionalInterfaces }: JsonObject): readonly Place[] {
  const main = { url: url ?? "", transport: typeof preferredTransport === "string" ? preferredTransport : "" };
  const places = new Map<string, Place>();
  for (const { url: address, transport } of [main, ...objectsOf(additionalInterfaces)]) {
    if (typeof address !== "string" || address === "" || typeof transport !== "string") continue;
    const place = { url: address, transport: wireName(transport || defaultTransport) };
    places.set(JSON.stringify([place.url, place.transport]), place);
  }
  return [...places.values()];
}

const defaultTransport = "JSONRPC";

/** The objects of a list that may be something else. */
export function objectsOf(json: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(json) ? json.filter(isJsonObject) : [];
}

function noCard(violation: FieldViolation): A2AError {
  return new A2AError("invalidAgentResponse", `this is no agent card that can be called: ${violationText(violation)}`, {
    violations: [violation],
  });
}
