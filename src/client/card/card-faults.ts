import { validate } from "../../protocol/check/validate.js";
import type { FieldViolation } from "../../protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../../protocol/model.js";

/** Finds missing and wrong members of a card. Loaded for a card that cannot be used. */
export function findFaults(card: AgentCard): readonly FieldViolation[] {
  return validate(AgentCardSchema, card);
}
