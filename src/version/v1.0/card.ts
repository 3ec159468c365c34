import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../protocol/dynamic.js";
import { A2AError } from "../../protocol/errors.js";
import { readJson } from "../../protocol/json-reader.js";
import { writeJson } from "../../protocol/json-writer.js";
import { type AgentCard, AgentCardSchema } from "../../protocol/model.js";

/** The card as 1.0 has it: the JSON form of its message (spec 4.4, 5.7). */
export function writeCard(card: AgentCard): JsonObject {
  return writeJson(AgentCardSchema, card);
}

/**
 * Reads a peer's card. A member of a wrong type is read as empty, since a card with a broken skill can be called all
 * the same; interfaces that say no address or no binding are left out. Throws `invalidAgentResponse` when none is left.
 */
export function readCard(json: JsonValue | undefined): AgentCard {
  if (!isJsonObject(json)) throw noCard("it is no JSON object");
  const card = readJson(AgentCardSchema, json, { lenient: true }).message as AgentCard;
  const usable = card.supportedInterfaces.filter(({ url, protocolBinding }) => url !== "" && protocolBinding !== "");
  if (usable.length === 0) throw noCard("it lists no interface with an address and a binding");
  // Only cards of this version have the list, so an entry without a version is of this one.
  for (const entry of usable) entry.protocolVersion ||= "1.0";
  card.supportedInterfaces = usable;
  return card;
}

function noCard(reason: string): A2AError {
  return new A2AError("invalidAgentResponse", `this is no agent card: ${reason}`);
}
