import { validate } from "../../protocol/check/validate.js";
import type { FieldViolation } from "../../protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../../protocol/model.js";

/** What a card lacks, or has wrong. Loaded for a card that cannot be used. */
export function findFaults(card: AgentCard): readonly FieldViolation[] {
  return validate(AgentCardSchema, card);
}
