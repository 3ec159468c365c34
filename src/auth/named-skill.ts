import type { Message } from "../protocol/model.js";

/** The skill of a message whose metadata names it. */
export function namedSkill({ metadata }: Message): string | undefined {
  const skill = metadata?.["skillId"];
  return typeof skill === "string" ? skill : undefined;
}
