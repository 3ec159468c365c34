import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { readJson } from "../../protocol/codec/json/reader.js";
import { writeJson } from "../../protocol/codec/json/writer.js";
import { isJsonObject } from "../../protocol/codec/outline/dynamic.js";
import { A2AError, type FieldViolation } from "../../protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../../protocol/model.js";
import { mergeViolations, mustBe, violationText } from "../../protocol/violations.js";

/** The card in 1.0: the JSON form of its message (spec 4.4, 5.7). */
export function writeCard(card: AgentCard): JsonObject {
  return writeJson(AgentCardSchema, card);
}

/**
 * Reads a peer's card. A member of a wrong type reads as empty, since an agent is callable despite a broken skill.
 * Skips interfaces without a URL or binding. If none is left, throws `invalidAgentResponse` with every violation, those
 * that `check` finds too.
 */
export function readCard(
  json: JsonValue | undefined,
  check: (card: AgentCard) => readonly FieldViolation[],
): AgentCard {
  if (!isJsonObject(json)) throw noCard([{ field: "", description: mustBe("a JSON object", json) }]);
  const { message: card, violations } = readJson(AgentCardSchema, json, { lenient: true });
  const usable = card.supportedInterfaces.filter(({ url, protocolBinding }) => url !== "" && protocolBinding !== "");
  if (usable.length === 0) throw noCard(mergeViolations(violations, check(card)));
  // Only 1.0 cards have this list, so an entry without a version is 1.0.
  for (const entry of usable) entry.protocolVersion ||= "1.0";
  card.supportedInterfaces = usable;
  return card;
}

const maxViolations = 3;

function noCard(violations: readonly FieldViolation[]): A2AError {
  const more = violations.length > maxViolations ? `, and ${violations.length - maxViolations} more` : "";
  const list = violations.slice(0, maxViolations).map(violationText).join(", ");
  return new A2AError("invalidAgentResponse", `this is not an agent card that can be called: ${list}${more}`, {
    violations,
  });
}
