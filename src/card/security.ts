import { clone, create, fromJson, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { messageOf } from "../protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../protocol/model.js";

type CardInit = MessageInitShape<typeof AgentCardSchema>;

/** A scheme as the card has it: the 1.0 form; older versions get their own (spec 4.5). */
export type SchemeDeclaration = NonNullable<NonNullable<CardInit["securitySchemes"]>[string]["scheme"]>;

/** Alternatives of schemes that apply together, each with its scopes. */
type RequirementList = readonly (readonly (readonly [scheme: string, scopes: readonly string[]])[])[];

/** What the card says about who may call. */
export interface CardSecurity {
  readonly schemes: ReadonlyMap<string, SchemeDeclaration>;
  readonly requirements: RequirementList;
  /** What single skills require, by their ids. */
  readonly skills: ReadonlyMap<string, RequirementList>;
}

/**
 * Schemes in the JSON form of 1.0, as a card has them (spec 4.5). Throws a `TypeError` that names the member for what is not
 * a scheme.
 */
export function schemesFromJson(json: JsonObject): ReadonlyMap<string, SchemeDeclaration> {
  try {
    const { securitySchemes } = fromJson(AgentCardSchema, { securitySchemes: json });
    const schemes = Object.entries(securitySchemes).map(([name, { scheme }]) => [name, scheme] as const);
    const empty = schemes.find(([, { case: kind }]) => kind === undefined);
    if (empty !== undefined) throw new TypeError(`${empty[0]} has no member such as httpAuthSecurityScheme`);
    return new Map(schemes);
  } catch (cause) {
    const problem = messageOf(cause);
    throw new TypeError(`declares.schemes: ${problem}`, { cause });
  }
}

/** The card with what it says about who may call, instead of what it said before. */
export function declareSecurity(card: AgentCard, { schemes, requirements, skills }: CardSecurity): AgentCard {
  const shown = clone(AgentCardSchema, card);
  const { securitySchemes, securityRequirements } = create(AgentCardSchema, {
    securitySchemes: Object.fromEntries([...schemes].map(([name, scheme]) => [name, { scheme }])),
    securityRequirements: requirements.map(requirementInit),
  });
  for (const skill of shown.skills) {
    const required = skills.get(skill.id) ?? [];
    skill.securityRequirements = create(AgentCardSchema, {
      securityRequirements: required.map(requirementInit),
    }).securityRequirements;
  }
  return Object.assign(shown, { securitySchemes, securityRequirements });
}

function requirementInit(needs: RequirementList[number]) {
  return { schemes: Object.fromEntries(needs.map(([name, scopes]) => [name, { list: [...scopes] }])) };
}
