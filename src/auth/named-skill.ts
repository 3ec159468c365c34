import { invalidParams } from "../protocol/errors.js";
import type { Message } from "../protocol/model.js";
import { mustBe } from "../protocol/violations.js";

/** The skill of a message whose metadata names it. */
export function namedSkill({ metadata }: Message): string | undefined {
  const skill = metadata?.["skillId"];
  return typeof skill === "string" ? skill : undefined;
}

/** Throws `invalidParams` for a message whose `skillId` is not a string. It would count as a message for no skill. */
export function assertSkillId({ metadata }: Message): void {
  const skill = metadata?.["skillId"];
  if (skill === undefined || typeof skill === "string") return;
  throw invalidParams({ field: "message.metadata.skillId", description: mustBe("a string", skill) });
}
