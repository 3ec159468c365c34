import type { JsonObject } from "@bufbuild/protobuf";
import type { AgentCard } from "../../protocol/model.js";
import { cardReaders } from "../../version/detect-card.js";
import type { KnownVersions } from "../versions.js";

/** Reads a card with members of an older form, by the versions it belongs to. Loaded for the first such card. */
export async function readOlderCard(json: JsonObject, { load }: KnownVersions): Promise<AgentCard> {
  const { reader: first, secondReader: further } = cardReaders(json);
  const card = (await load(first)).readCard(json);
  if (further === undefined) return card;
  return complete(card, (await load(further)).readCard(json));
}

/** Adds to a card what it says only in its older form, mostly its security. */
function complete(card: AgentCard, older: AgentCard): AgentCard {
  const { capabilities, securityRequirements } = card;
  const schemes = Object.entries(older.securitySchemes).filter(
    ([name]) => card.securitySchemes[name]?.scheme.case === undefined,
  );
  const extendedAgentCard = capabilities?.extendedAgentCard ?? older.capabilities?.extendedAgentCard;
  return {
    ...card,
    securitySchemes: { ...card.securitySchemes, ...Object.fromEntries(schemes) },
    securityRequirements: securityRequirements.length > 0 ? securityRequirements : older.securityRequirements,
    ...(capabilities === undefined || extendedAgentCard === undefined
      ? {}
      : { capabilities: { ...capabilities, extendedAgentCard } }),
    skills: card.skills.map((skill) => {
      const same = older.skills.find(({ id }) => id === skill.id);
      return skill.securityRequirements.length > 0 || same === undefined
        ? skill
        : { ...skill, securityRequirements: same.securityRequirements };
    }),
  };
}
