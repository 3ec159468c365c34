import { clone, create } from "@bufbuild/protobuf";
import { type AgentCard, AgentCardSchema } from "../protocol/model.js";
import { additionProblems, assertNoProblems } from "./check.js";
import type { CardAdditions, ExtensionOptions, SkillOptions } from "./options.js";

/**
 * The extended card of an authenticated caller (spec 3.1.11): the public card with additions. Skills and extensions are
 * added, replacing those with the same id or URI; other members replace the public ones. Throws a `CardError`.
 */
export function extendedCard(base: AgentCard, additions: CardAdditions): AgentCard {
  assertNoProblems(additionProblems(additions));
  const { capabilities, ...card } = clone(AgentCardSchema, base);
  const { provider = card.provider, skills = [], extensions = [] } = additions;
  return create(AgentCardSchema, {
    name: additions.name ?? card.name,
    description: additions.description ?? card.description,
    version: additions.version ?? card.version,
    supportedInterfaces: card.supportedInterfaces,
    provider: provider && { organization: provider.organization, url: provider.url },
    documentationUrl: additions.documentationUrl ?? card.documentationUrl,
    iconUrl: additions.iconUrl ?? card.iconUrl,
    capabilities: {
      streaming: capabilities?.streaming,
      pushNotifications: capabilities?.pushNotifications,
      extendedAgentCard: capabilities?.extendedAgentCard,
      extensions: mergeEntries(capabilities?.extensions ?? [], extensions.map(extensionInit), ({ uri }) => uri),
    },
    securitySchemes: card.securitySchemes,
    securityRequirements: card.securityRequirements,
    defaultInputModes: [...(additions.defaultInputModes ?? card.defaultInputModes)],
    defaultOutputModes: [...(additions.defaultOutputModes ?? card.defaultOutputModes)],
    skills: mergeEntries(card.skills, skills.map(skillInit), ({ id }) => id),
    // No signatures: they cover the public card.
  });
}

/** The message init of a skill. */
export function skillInit({
  id,
  name,
  description,
  tags,
  examples = [],
  inputModes = [],
  outputModes = [],
}: SkillOptions) {
  return {
    id,
    name,
    description,
    tags: [...tags],
    examples: [...examples],
    inputModes: [...inputModes],
    outputModes: [...outputModes],
  };
}

/** The message init of an extension. */
export function extensionInit({ uri, description = "", required = false, params }: ExtensionOptions) {
  return { uri, description, required, params: params && structuredClone(params) };
}

function mergeEntries<A, B>(base: readonly A[], additions: readonly B[], key: (entry: A | B) => string): (A | B)[] {
  const entries = new Map<string, A | B>(base.map((entry) => [key(entry), entry]));
  for (const entry of additions) entries.set(key(entry), entry);
  return [...entries.values()];
}
