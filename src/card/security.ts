import { clone, create, fromJson, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { readErrorMessage } from "../protocol/errors.js";
import { type AgentCard, AgentCardSchema } from "../protocol/model.js";

type CardInit = MessageInitShape<typeof AgentCardSchema>;

/** A scheme in the form of 1.0 (spec 4.5). Older versions write their own form. */
export type SchemeDeclaration = NonNullable<NonNullable<CardInit["securitySchemes"]>[string]["scheme"]>;

/** Alternatives of schemes that apply together, each with its scopes. */
type RequirementList = readonly (readonly (readonly [scheme: string, scopes: readonly string[]])[])[];

/** Who may call, as the card declares it. */
export interface CardSecurity {
  readonly schemes: ReadonlyMap<string, SchemeDeclaration>;
  readonly requirements: RequirementList;
  /** Requirements of single skills, by their ids. */
  readonly skills: ReadonlyMap<string, RequirementList>;
}

/**
 * Reads schemes in the JSON form of 1.0 (spec 4.5). Throws a `TypeError` that names the member that is not a scheme.
 */
export function schemesFromJson(json: JsonObject): ReadonlyMap<string, SchemeDeclaration> {
  try {
    const { securitySchemes } = fromJson(AgentCardSchema, { securitySchemes: json });
    const schemes = Object.entries(securitySchemes).map(([name, { scheme }]) => [name, scheme] as const);
    const unknownScheme = schemes.find(([, { case: kind }]) => kind === undefined);
    if (unknownScheme !== undefined)
      throw new TypeError(`${unknownScheme[0]} has no member such as httpAuthSecurityScheme`);
    return new Map(schemes);
  } catch (cause) {
    throw new TypeError(`securityDeclaration.schemes: ${readErrorMessage(cause)}`, { cause });
  }
}

/** A copy of the card that declares this security instead of its own. */
export function declareSecurity(card: AgentCard, { schemes, requirements, skills }: CardSecurity): AgentCard {
  const copy = clone(AgentCardSchema, card);
  const { securitySchemes, securityRequirements } = create(AgentCardSchema, {
    securitySchemes: Object.fromEntries([...schemes].map(([name, scheme]) => [name, { scheme }])),
    securityRequirements: requirements.map(requirementInit),
  });
  for (const skill of copy.skills) {
    skill.securityRequirements = create(AgentCardSchema, {
      securityRequirements: (skills.get(skill.id) ?? []).map(requirementInit),
    }).securityRequirements;
  }
  return Object.assign(copy, { securitySchemes, securityRequirements });
}

function requirementInit(needs: RequirementList[number]) {
  return { schemes: Object.fromEntries(needs.map(([name, scopes]) => [name, { list: [...scopes] }])) };
}
