import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { AgentCard } from "../../../protocol/model.js";

/** How a version writes its card. */
export interface CardForm {
  writeCard(card: AgentCard): JsonObject | undefined;
  readCard(json: JsonValue | undefined): AgentCard;
}
